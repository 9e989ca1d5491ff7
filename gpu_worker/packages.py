"""Caches model packages: fetched from S3 to this disk once, and checked; loaded from there to the device once."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

from gpu_worker.health.server import ServedModel
from inference.models.loaded import LoadedModel
from inference.models.package import compute_digest, list_files
from inference.models.registry import Loader, load_model
from wsi.errors import ModelError, SourceMissing, UnsuitableDevice
from wsi.planning.plan import Plan
from wsi.ports.objects import Objects
from wsi.records.model_card import ModelCard

#: The only valid names of the cache's folders: a name comes from a plan.
_DIGEST = re.compile(r"[0-9a-f]{64}")
#: Models that stay loaded: the current shard's and the next one's.
MAX_LOADED = 2


class ModelCache:
    """The loaded models, for one thread."""

    def __init__(
        self,
        *,
        packages: Objects,
        bucket: str,
        cache: Path,
        device: str,
        load: Loader = load_model,
        on_phase: Callable[[ModelCard, str, float], None] = lambda card, phase, seconds: None,
    ) -> None:
        """Begin without models. `on_phase` gets the seconds of fetching weights ("weights") and of making the model
        ready ("warm_up")."""
        self._packages = packages
        self._bucket = bucket
        self._cache = cache
        self._device = device
        self._load = load
        self._on_phase = on_phase
        self._loaded: OrderedDict[str, LoadedModel] = OrderedDict()

    def load(self, plan: Plan) -> LoadedModel:
        """Return the plan's model, loaded. Raises ModelError, UnsuitableDevice, DeviceLost."""
        card = plan.card
        # A package that was registered earlier may be read differently under a newer name, and a message about one
        # tenant's model must not name another tenant's with the same bytes.
        key = f"{card.name} {card.version} {card.identity}"
        if key not in self._loaded:
            package, began = None, time.monotonic()
            if plan.package_uri is not None:
                package = fetch_package(card, plan.package_uri, self._packages, self._bucket, self._cache)
            fetched = time.monotonic()
            self._loaded[key] = self._load_model(card, package)
            self._on_phase(card, "weights", fetched - began)
            self._on_phase(card, "warm_up", time.monotonic() - fetched)
        self._loaded.move_to_end(key)
        while len(self._loaded) > MAX_LOADED:
            self._loaded.popitem(last=False)
        return self._loaded[key]

    def _load_model(self, card: ModelCard, package: Path | None) -> LoadedModel:
        """Load a model. If the device is full, try again without the models of earlier shards."""
        try:
            return self._load(card, package, self._device)
        except UnsuitableDevice:
            if not self._loaded:
                raise
        # Outside the handler, whose traceback keeps the partly loaded model alive.
        self._loaded.clear()
        return self._load(card, package, self._device)

    def release(self) -> None:
        """Forget the loaded models, which frees their memory for another process."""
        self._loaded.clear()
        if self._device != "cpu" and "torch" in sys.modules:
            from inference.models.execution.devices import give_back_memory

            give_back_memory()

    @property
    def served(self) -> Sequence[ServedModel]:
        """Return the loaded models as `gpu_worker.health.server` lists them."""
        return [describe_served(model.card) for model in list(self._loaded.values())]


def describe_served(card: ModelCard) -> ServedModel:
    """Return a loaded model as `gpu_worker.health.server` lists it."""
    if card.objects is not None:
        output, datatype, shape = "maps", "UINT8", (card.objects.maps, card.input_px, card.input_px)
    else:
        output, datatype, shape = "scores" if card.embedding is None else "vectors", "FP32", (card.width,)
    return ServedModel(
        name=card.name,
        version=card.version,
        platform=card.kind,
        batch=card.batch,
        height=card.input_px,
        width=card.input_px,
        columns=[column.name for column in card.columns],
        output=output,
        datatype=datatype,
        shape=shape,
    )


def fetch_package(card: ModelCard, uri: str, packages: Objects, bucket: str, cache: Path) -> Path:
    """Return the folder cache/<digest> with the package of `card`; fetch it from `uri` ("s3://<bucket>/<prefix>/") if
    it is not there.

    Raises ModelError for another bucket, a missing file or bytes other than those registered. A cached package is
    checked too, each time it is loaded: a power failure may have truncated it, or others may be able to write to its
    folder, and TorchScript is code.
    """
    if not _DIGEST.fullmatch(card.digest):
        raise ModelError(f"The digest of model {card.name} is not one: register the model again.")
    folder = cache / card.digest
    if _is_registered(folder, card):
        return folder
    if folder.is_dir():
        shutil.rmtree(folder)
    prefix = f"s3://{bucket}/"
    if not uri.startswith(prefix):
        raise ModelError(f"The package of model {card.name} does not lie in the models bucket.")
    cache.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=cache, prefix=".fetching-"))
    try:
        for name in list_files(card):
            (fresh / name).write_bytes(packages.get(f"{uri.removeprefix(prefix).rstrip('/')}/{name}"))
        if not _is_registered(fresh, card):
            raise ModelError(
                f"The package of model {card.name} is not the one that was registered: its digest differs."
            )
        _publish(fresh, folder)
    except SourceMissing as error:
        raise ModelError(f"The package of model {card.name} is not complete in the models bucket.") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


def _is_registered(folder: Path, card: ModelCard) -> bool:
    files = list_files(card)
    return all((folder / name).is_file() for name in files) and compute_digest(folder, files) == card.digest


def _publish(fresh: Path, folder: Path) -> None:
    """Move the package into place by one rename: no reader ever sees half of it."""
    try:
        fresh.rename(folder)
    except OSError:
        if not folder.is_dir():  # otherwise another process was faster, with the same bytes
            raise
