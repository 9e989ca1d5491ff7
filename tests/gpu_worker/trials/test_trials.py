"""Packages that a worker tries: what passes takes jobs, what does not says why. Packages and processes are real."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from gpu_worker.drain import Drain
from gpu_worker.hidden_message import HiddenMessage
from inference.models.checks.golden import Golden, write_golden
from inference.models.checks.trial import try_package
from inference.models.confined.lock import can_lock
from inference.models.execution.scoring import score_tiles
from inference.models.package import read_package
from inference.models.registry import load_model
from tests.fakes.objects import MemoryObjects
from tests.gpu_worker.installation import SHORT, Installation
from tests.inference.packages import network, write_package
from tests.inference.packages_with_card import tiles, vit, write_card_package
from wsi import keys
from wsi.errors import ModelError, ModelFailed, NotFound, SourceUnavailable
from wsi.models.package_files import GOLDEN
from wsi.models.registration_rules import QUEUE, SILENT_TRIES, make_trial_message
from wsi.records.model_card import ModelCard
from wsi.records.registrations import NewRegistration, PackageFile, Registration
from wsi.states import JobState, RegistrationState


@pytest.fixture
def installation(tmp_path) -> Installation:
    return Installation(tmp_path)


def added(
    installation: Installation,
    folder: Path,
    version: str = "1",
    *,
    folder_of: Callable[[UUID, UUID], str] = keys.make_package_prefix,
    **other_bytes: bytes,
) -> Registration:
    """A package that an admin added, as the API leaves it to the workers."""
    registration_id = uuid4()
    files = []
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        sha256 = hashlib.sha256(data).hexdigest()
        key = f"{folder_of(installation.actor.tenant, registration_id)}{path.name}"
        files.append(PackageFile(name=path.name, size=len(data), sha256=sha256, uri=f"s3://tessera-models/{key}"))
        installation.packages.put(key, other_bytes.get(path.stem, data))
    wanted = NewRegistration(id=registration_id, name="net", version=version, files=tuple(files), becomes_default=False)
    installation.ledger.open_registration(installation.actor, wanted)
    registration = installation.ledger.complete_registration(installation.actor, registration_id)
    assert registration is not None
    tell(installation, registration)
    return registration


def tell(installation: Installation, registration: Registration) -> None:
    installation.queues.send(QUEUE, make_trial_message(registration), group="t", traceparent="")


def verdict(installation: Installation, version: str = "1") -> Registration:
    return installation.ledger.get_registration(installation.actor, "net", version)


def test_a_package_that_passes_takes_jobs_with_its_measured_rate(installation, tmp_path):
    """Also when its message comes twice, and beside a shard, whose end the trial awaits."""
    before, plan = installation.planned_job()
    tell(installation, added(installation, write_package(tmp_path / "net")))
    installation.worker().run()
    assert installation.job(before.id).tiles_inferred == len(plan.tiles)
    ready = verdict(installation)
    assert ready.state is RegistrationState.READY
    assert ready.measured is not None
    assert ready.measured.device == "CPU, 1 thread"
    assert ready.measured.tiles_per_second > 0
    assert 50e6 < ready.measured.memory_bytes < 8e9
    assert (ready.measured.device_bytes, ready.measured.golden) == (None, False)
    model = installation.ledger.get_model(installation.actor, "net")
    assert (model.version, model.is_default) == ("1", True)
    assert model.card["tiles_per_second"] == ready.measured.tiles_per_second
    assert model.package_uri == f"s3://tessera-models/packages/{ready.tenant}/{ready.id}/"
    assert installation.queues.depth(QUEUE) == 0
    assert not list(tmp_path.rglob("trial-*"))
    job, plan = installation.planned_job(card=ModelCard.from_json(model.card), package_uri=model.package_uri)
    installation.worker().run()
    done = installation.job(job.id)
    assert (done.state, done.tiles_inferred) == (JobState.STITCHING, len(plan.tiles))


@pytest.mark.skipif(not can_lock(), reason="needs Linux with Landlock, on x86-64")
def test_a_model_that_is_code_is_tried_and_run_in_locked_processes(installation, tmp_path):
    tell(installation, added(installation, write_package(tmp_path / "net")))
    installation.worker(lock_models=True).run()
    measured = verdict(installation).measured
    assert measured is not None
    assert 50e6 < measured.memory_bytes < 8e9
    model = installation.ledger.get_model(installation.actor, "net")
    job, plan = installation.planned_job(card=ModelCard.from_json(model.card), package_uri=model.package_uri)
    installation.worker(lock_models=True).run()
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)


def test_a_network_that_is_wrong_is_refused_with_its_sentence(installation, tmp_path):
    added(installation, write_package(tmp_path / "net", Whole()))
    installation.worker().run()
    refused = verdict(installation)
    assert (refused.state, refused.reason) == (RegistrationState.REJECTED, "model_failed")
    assert "seven tiles, please" in (refused.sentence or "")
    with pytest.raises(NotFound):
        installation.ledger.get_model(installation.actor, "net")
    assert installation.queues.depth(QUEUE) == 0


def scored(folder: Path, seen: NDArray[np.uint8]) -> NDArray[np.float32]:
    """What the package's network says of tiles."""
    return score_tiles(load_model(read_package(folder), folder, "cpu"), seen)


def test_golden_tiles_of_a_package_are_reproduced_or_it_is_refused(tmp_path):
    seen = tiles(8, 48)
    scores = scored(write_card_package(tmp_path / "bare", vit()), seen)
    folder = write_card_package(tmp_path / "net", vit(), golden=GOLDEN)
    write_golden(folder / GOLDEN, Golden(tiles=seen, scores=scores))
    assert try_package(folder, "cpu", 0.1)[1].golden
    write_golden(folder / GOLDEN, Golden(tiles=seen, scores=scores[:, ::-1].copy()))
    with pytest.raises(ModelError, match="golden"):
        try_package(folder, "cpu", 0.1)


class Dead(torch.nn.Module):
    """A network that looks at nothing."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(x.shape[0], 2)


class Nan(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = network()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x) * float("nan")


class Whole(torch.nn.Module):
    """A network of a fixed batch."""

    def __init__(self) -> None:
        super().__init__()
        self.body = network()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.shape[0] == 7, "seven tiles, please"
        return self.body(x)


@pytest.mark.parametrize(("module", "said"), [(Dead(), "same values for every tile"), (Nan(), "not numbers")])
def test_a_trial_asks_the_network_what_every_load_asks(tmp_path, module, said):
    with pytest.raises(ModelFailed, match=said):
        try_package(write_package(tmp_path / "net", module), "cpu", 0.1)


def test_a_card_that_is_wrong_is_refused_with_its_sentence(installation, tmp_path):
    folder = write_card_package(tmp_path / "net", vit(), licence=None, license="MIT")
    added(installation, folder)
    installation.worker().run()
    refused = verdict(installation)
    assert (refused.state, refused.reason) == (RegistrationState.REJECTED, "model_unavailable")
    assert "licence" in (refused.sentence or "")


def test_bytes_that_are_not_those_announced_are_refused(installation, tmp_path):
    added(installation, write_package(tmp_path / "net"), config=b"{}")
    installation.worker().run()
    assert "SHA-256 differs" in (verdict(installation).sentence or "")


def test_a_package_in_another_tenants_place_is_not_opened(installation, tmp_path):
    added(
        installation, write_package(tmp_path / "net"), folder_of=lambda _, id_: keys.make_package_prefix(uuid4(), id_)
    )
    installation.worker().run()
    assert "does not lie with its package" in (verdict(installation).sentence or "")


def test_a_package_and_a_message_of_the_last_release_are_tried(installation, tmp_path):
    folder = write_package(tmp_path / "net")
    registration = added(installation, folder, folder_of=lambda _, id_: f"packages/{id_}/")
    (message,) = installation.queues.receive(QUEUE, limit=1, wait_seconds=0, visibility_seconds=60)
    installation.queues.delete(QUEUE, message.receipt)
    body = {"v": 1, "registration": str(registration.id), "model": "net", "version": "1"}
    installation.queues.send(QUEUE, body, group="t", traceparent="")
    installation.worker().run()
    assert verdict(installation).state is RegistrationState.READY
    model = installation.ledger.get_model(installation.actor, "net")
    assert model.package_uri == f"s3://tessera-models/packages/{registration.id}/"
    assert model.owner == installation.actor.tenant


def test_a_message_of_a_package_that_was_replaced_is_dropped(installation, tmp_path):
    registration = added(installation, write_package(tmp_path / "net"))
    installation.ledger.books.registrations.clear()
    installation.worker().run()
    assert installation.queues.depth(QUEUE) == 0
    assert registration.id not in {known.id for known in installation.ledger.books.registrations.values()}


class Away(MemoryObjects):
    def get(self, key: str) -> bytes:
        raise SourceUnavailable("The store does not answer.")


def test_a_store_that_is_away_costs_the_package_no_try(installation, tmp_path):
    registration = added(installation, write_package(tmp_path / "net"))
    installation.packages = Away()
    installation.worker().run()
    assert verdict(installation).state is RegistrationState.CHECKING
    assert installation.ledger.books.tries[registration.id] == 0
    assert installation.queues.depth(QUEUE) == 1


class Slow(torch.nn.Module):
    """A network that takes a long time for each batch."""

    def __init__(self) -> None:
        super().__init__()
        self.body = network()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for _ in range(1_000_000):
            y = torch.tanh(y)
        return self.body(y)


def test_a_worker_that_is_told_to_leave_gives_the_trial_back_at_once(installation, tmp_path):
    registration = added(installation, write_package(tmp_path / "net", Slow()))
    drain = Drain()
    worker = threading.Thread(target=installation.worker(drain).run)
    worker.start()
    deadline = time.monotonic() + 60
    while installation.ledger.books.tries[registration.id] == 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    drain.request()
    worker.join(300)
    assert not worker.is_alive()
    assert verdict(installation).state is RegistrationState.CHECKING
    assert installation.queues.receive(QUEUE, limit=1, wait_seconds=0, visibility_seconds=1)


def test_a_model_that_never_returns_is_stopped_and_refused(installation, tmp_path):
    added(installation, write_package(tmp_path / "net", Slow()))
    installation.worker(waits=replace(SHORT, trial=5.0)).run()
    assert "did not finish" in (verdict(installation).sentence or "")


def test_a_model_that_takes_too_much_memory_is_stopped_and_refused(installation, tmp_path, monkeypatch):
    monkeypatch.setattr("gpu_worker.trials.trials.MEMORY_SHARE", 1e-4)
    added(installation, write_package(tmp_path / "net", Slow()))
    installation.worker().run()
    assert "GiB of memory" in (verdict(installation).sentence or "")


def test_workers_that_end_without_a_word_are_counted(installation, tmp_path):
    registration = added(installation, write_package(tmp_path / "net"))
    for _ in range(SILENT_TRIES):
        installation.ledger.begin_trial(registration.id)
    installation.worker().run()
    refused = verdict(installation)
    assert refused.state is RegistrationState.REJECTED
    assert "memory" in (refused.sentence or "")


def test_doubts_are_told(tmp_path):
    folder = write_card_package(tmp_path / "net", vit(), mpp_range=[0.1, 0.3])
    assert "mpp" in try_package(folder, "cpu", 0.1)[1].doubts[0]


def test_a_hidden_message_stays_hidden_until_its_end(installation):
    installation.queues.send(QUEUE, {"v": 1}, group="t", traceparent="")
    (message,) = installation.queues.receive(QUEUE, limit=1, wait_seconds=0, visibility_seconds=1)
    with HiddenMessage(installation.queues, QUEUE, message, seconds=1) as hidden:
        time.sleep(1.5)
        assert not installation.queues.receive(QUEUE, limit=1, wait_seconds=0, visibility_seconds=1)
    hidden.give_back()
    assert installation.queues.receive(QUEUE, limit=1, wait_seconds=0, visibility_seconds=1)


@pytest.mark.gpu
def test_a_package_is_tried_on_a_gpu(tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    card, measured = try_package(write_package(tmp_path / "net"), "cuda", 0.5)
    assert card.digest
    assert measured.device == torch.cuda.get_device_name(0)
    assert measured.device_bytes > 0
    assert json.dumps(measured.as_json())
