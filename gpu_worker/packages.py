"""Model packages: from S3 to this disk once, checked; from there to the device once, kept."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

from gpu_worker.health import Served
from gpu_worker.models.loaded import LoadedModel
from gpu_worker.models.package import package_digest, package_files
from gpu_worker.models.registry import Loader, load_model
from wsi.errors import ModelError, SourceMissing, UnsuitableDevice
from wsi.model_card import ModelCard
from wsi.plan import Plan
from wsi.ports.objects import Objects

#: What names a folder of the cache: nothing else may, since the name comes out of a plan.
_DIGEST = re.compile(r"[0-9a-f]{64}")
#: Models that stay loaded: the running shard's and the next one's.
KEPT = 2


class Models:
    """For one thread."""

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
        """`on_phase` is told the seconds of fetching weights ("weights") and of making the model ready ("warm_up")."""
        self._packages = packages
        self._bucket = bucket
        self._cache = cache
        self._device = device
        self._load = load
        self._on_phase = on_phase
        self._loaded: OrderedDict[str, LoadedModel] = OrderedDict()

    def load(self, plan: Plan) -> LoadedModel:
        """Raises ModelError, UnsuitableDevice, DeviceLost."""
        card = plan.card
        key = card.identity  # a package registered before may be read otherwise under a newer name
        if key not in self._loaded:
            package, began = None, time.monotonic()
            if plan.package_uri is not None:
                package = fetch_package(card, plan.package_uri, self._packages, self._bucket, self._cache)
            fetched = time.monotonic()
            self._loaded[key] = self._ready(card, package)
            self._on_phase(card, "weights", fetched - began)
            self._on_phase(card, "warm_up", time.monotonic() - fetched)
        self._loaded.move_to_end(key)
        while len(self._loaded) > KEPT:
            self._loaded.popitem(last=False)
        return self._loaded[key]

    def _ready(self, card: ModelCard, package: Path | None) -> LoadedModel:
        """A device that is full is asked again without the models of shards before."""
        try:
            return self._load(card, package, self._device)
        except UnsuitableDevice:
            if not self._loaded:
                raise
        # Out of the handler, whose traceback holds what there is of the model.
        self._loaded.clear()
        return self._load(card, package, self._device)

    @property
    def served(self) -> Sequence[Served]:
        """The loaded ones, as `gpu_worker.health` tells of them."""
        cards = [model.card for model in list(self._loaded.values())]
        return [
            Served(
                name=card.name,
                version=card.version,
                platform=card.kind,
                batch=card.batch,
                height=card.input_px,
                width=card.input_px,
                columns=[column.name for column in card.columns],
            )
            for card in cards
        ]


def fetch_package(card: ModelCard, uri: str, packages: Objects, bucket: str, cache: Path) -> Path:
    """The folder cache/<digest> with the package of `card`, fetched from `uri` ("s3://<bucket>/<prefix>/") if it is
    not there. Raises ModelError for another bucket, a missing file or bytes that are not those registered.

    What lies in the cache is checked as well, each time it is loaded: it may have been cut short by a machine that
    lost power, or lie in a folder that others can write to, and TorchScript is code.
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
        for name in package_files(card):
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
    files = package_files(card)
    return all((folder / name).is_file() for name in files) and package_digest(folder, files) == card.digest


def _publish(fresh: Path, folder: Path) -> None:
    """One rename: no reader ever sees half a package."""
    try:
        fresh.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process of this machine was faster, with the same bytes
            raise
