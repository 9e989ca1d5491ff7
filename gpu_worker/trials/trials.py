"""Tries packages that admins added: one that passes becomes a model version, one that fails is refused with a message
that says why."""

from __future__ import annotations

import hashlib
import logging
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from gpu_worker.drain import Drain
from gpu_worker.hidden_message import HiddenMessage
from gpu_worker.trials.trial_messages import parse_registration
from gpu_worker.waits import WorkerWaits
from inference.limited import Limits, run_limited
from inference.memory import read_machine_bytes
from inference.models.checks.trial import try_package
from inference.models.registry import Loader
from inference.shard_run import Drained
from wsi import keys
from wsi.errors import FailReason, ModelError, ModelFailed, SourceMissing, UnsuitableDevice
from wsi.ports.objects import Objects
from wsi.ports.queues import Queues
from wsi.ports.registrations import SystemRegistrations
from wsi.records.model_card import ModelCard
from wsi.records.models import ModelVersion
from wsi.records.registrations import ModelMeasurements, Registration

log = logging.getLogger(__name__)

#: Share of the machine's memory for a trial; the rest is this process's own.
MEMORY_SHARE: Final = 0.8
#: Seconds until a package returns to the queue if it could not be fetched, or its device was lost meanwhile.
LATER_SECONDS: Final = 60


class _SettledElsewhere(Exception):
    """Another worker accepted or refused the package meanwhile."""


class Trials:
    """Tries one package at a time, for one thread."""

    def __init__(
        self,
        *,
        ledger: SystemRegistrations,
        queues: Queues,
        packages: Objects,
        bucket: str,
        scratch: Path,
        device: str,
        load: Loader,
        drain: Drain,
        beat: Callable[[], None],
        waits: WorkerWaits,
    ) -> None:
        """Prepare for trials. `packages` is the models bucket, named `bucket`; `beat` is called during a trial."""
        self._ledger, self._queues, self._packages, self._bucket = ledger, queues, packages, bucket
        self._scratch, self._device, self._drain, self._beat = scratch, device, drain, beat
        self._load = load
        self._waits = waits

    def run(self, message: HiddenMessage) -> None:
        """Try the package that the message names, unless another worker did, and settle the message."""
        try:
            with message:
                self._run(message)
        except Exception:  # a process border: the message is delivered again when its visibility ends
            log.exception("trial not settled")

    def _run(self, message: HiddenMessage) -> None:
        registration_id = parse_registration(message.message)
        registration = self._ledger.find_registration_to_try(registration_id) if registration_id is not None else None
        if registration is None:
            return message.finish()
        fields = {"model": registration.name, "version": registration.version, "registration": str(registration.id)}
        log.info("trial begun", extra=fields)
        try:
            card, measured = self._try_package(registration)
        except _SettledElsewhere:
            return message.finish()
        except Drained:
            return message.give_back()
        except (ModelError, UnsuitableDevice) as error:
            log.warning("model refused", exc_info=error, extra=fields)
            self._ledger.reject_model(registration.id, _reason(error), error.sentence)
            return message.finish()
        except Exception:  # a package that fails in this way each time is refused in the end
            log.exception("trial failed", extra=fields)
            return message.give_back(seconds=LATER_SECONDS)
        self._ledger.accept_model(registration.id, self._make_version(registration, card, measured), measured)
        log.info("trial passed", extra={**fields, **measured.as_json()})
        return message.finish()

    def _try_package(self, registration: Registration) -> tuple[ModelCard, ModelMeasurements]:
        self._scratch.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=self._scratch, prefix="trial-"))
        try:
            self._fetch(registration, folder)
            if not self._ledger.begin_trial(registration.id):
                raise _SettledElsewhere
            limits = Limits(seconds=self._waits.trial, bytes=MEMORY_SHARE * read_machine_bytes(), on_poll=self._check)
            return run_limited(limits, try_package, folder, self._device, self._waits.trial_rate, self._load)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _check(self) -> None:
        self._beat()
        if self._drain.requested:
            raise Drained

    def _fetch(self, registration: Registration, folder: Path) -> None:
        """Fetch the package's files. Raises ModelError for files other than those announced, and for another place than
        the package's own: a row in SQL does not open another tenant's."""
        prefixes = keys.list_package_prefixes(registration.tenant, registration.id)
        own = [f"s3://{self._bucket}/{prefix}" for prefix in prefixes]
        for file in registration.files:
            self._check()
            if file.uri not in [f"{prefix}{file.name}" for prefix in own]:
                raise ModelError(f"The file {file.name} does not lie with its package: add the model again.")
            try:
                data = self._packages.get(file.uri.removeprefix(f"s3://{self._bucket}/"))
            except SourceMissing as error:
                raise ModelError(f"The file {file.name} of the package is gone: add the model again.") from error
            if hashlib.sha256(data).hexdigest() != file.sha256:
                raise ModelError(
                    f"The file {file.name} is not what was announced: its SHA-256 differs. Add the model again."
                )
            (folder / file.name).write_bytes(data)

    def _make_version(self, registration: Registration, card: ModelCard, measured: ModelMeasurements) -> ModelVersion:
        """Return the model version. Planning and dry runs use the rate measured here, whatever the card claims."""
        name, version = registration.name, registration.version
        card = replace(card, name=name, version=version, tiles_per_second=measured.tiles_per_second)
        return ModelVersion(
            name=name,
            version=version,
            digest=card.digest,
            card=card.as_json(),
            package_uri=f"{registration.files[0].uri.rpartition('/')[0]}/",
            owner=registration.tenant,
        )


def _reason(error: ModelError | UnsuitableDevice) -> FailReason:
    return FailReason.MODEL_FAILED if isinstance(error, ModelFailed) else FailReason.MODEL_UNAVAILABLE
