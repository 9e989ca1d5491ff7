"""A slide of known discs, rings and touching pairs, and a model that finds them by colour alone."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray

from inference.models.loaded import MapsInFlight
from wsi.errors import ModelFailed
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Numerics
from wsi.records.model_card import ModelCard, OutputKind
from wsi.records.outputs import CoreRule, ObjectOutput

OUTPUT = ObjectOutput(
    classes=("Disc",), rule=CoreRule(inside=128, core=200, least_core=4, reach=12), stride=8, margin=6, largest=48
)


@dataclass(frozen=True)
class Disc:
    x: float  #: px of the model
    y: float
    radius: float
    hole: float = 0.0  #: radius of what is left out of its middle
    core: float | None = None  #: half the width of its core; None: a quarter of the disc


def drawn_card(side: int, *, mpp: float = 0.5, **changes: Any) -> ModelCard:
    return replace(
        STAIN_DENSITY,
        name="discs",
        digest="d" * 64,
        tile_px=side,
        input_px=side,
        mpp=mpp,
        columns=(),
        output=OutputKind.DETECTION,
        objects=replace(OUTPUT, **changes),
        batch=4,
    )


def draw_discs(width: int, height: int, discs: Sequence[Disc], scale: int = 1) -> NDArray[np.uint8]:
    """[height * scale, width * scale, 3]: the red of a disc is 0, and the green of its core; all else is white. Each px
    of the model is `scale` x `scale` px of the picture."""
    y, x = np.mgrid[:height, :width] + 0.5
    picture = np.full((height, width, 3), 255, np.uint8)
    for disc in discs:
        far = np.hypot(x - disc.x, y - disc.y)
        picture[(far < disc.radius) & (far >= disc.hole), 0] = 0
        middle = (disc.radius + disc.hole) / 2 if disc.hole else 0
        core = disc.core or max(2.5, (disc.radius - disc.hole) / 4)
        picture[(np.abs(far - middle) < core) & (picture[..., 0] == 0), 1] = 0
    return picture.repeat(scale, axis=0).repeat(scale, axis=1)


def write_picture(path: Path, picture: NDArray[np.uint8], *, mpp: float) -> Path:
    """Write the picture without loss, as a tiled TIFF."""
    tifffile.imwrite(
        path,
        picture,
        tile=(256, 256),
        photometric="rgb",
        compression="adobe_deflate",
        resolution=(1e4 / mpp, 1e4 / mpp),
        resolutionunit="CENTIMETER",
    )
    return path


class FindsDiscs:
    """A `DenseModel` that looks at colours: what it gives for a px depends on that px alone."""

    def __init__(self, card: ModelCard) -> None:
        self.card = card

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        raise AssertionError("it gives maps")

    def infer_maps(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.uint8]:
        side = self.card.input_px
        count, height, width, _ = pixels.shape
        assert height == width
        assert height % side == 0
        scale = height // side
        means = pixels.reshape(count, side, scale, side, scale, 3).mean(axis=(2, 4))
        return (255 - np.rint(means[..., :2])).astype(np.uint8).transpose(0, 3, 1, 2)


class QueuesDiscs(FindsDiscs):
    """The same as `QueueingMaps`: a slow device's maps are there only once they are waited for, and not before those of
    earlier batches."""

    def __init__(self, card: ModelCard, broken: int | None = None) -> None:
        """`broken`: the number of the batch whose maps are no numbers."""
        super().__init__(card)
        self.events: list[tuple[str, int]] = []  #: what happened to which batch
        self._broken = broken

    def start_maps(self, pixels: NDArray[np.uint8], maps: NDArray[np.uint8], numerics: Numerics) -> MapsInFlight:
        number = sum(event == "started" for event, _ in self.events)
        self.events.append(("started", number))
        return _DrawnMaps(self, number, lambda: np.copyto(maps, self.infer_maps(pixels, numerics)))

    def finish(self, number: int, compute: Callable[[], None]) -> None:
        if ("computed", number) not in self.events:
            assert number == 0 or ("computed", number - 1) in self.events
            compute()
            self.events.append(("computed", number))
        if number == self._broken:
            raise ModelFailed("Its values are not numbers.")


@dataclass(frozen=True)
class _DrawnMaps:
    model: QueuesDiscs
    number: int
    compute: Callable[[], None]
    seconds: float = 0.25

    def wait_for_maps(self) -> None:
        self.model.finish(self.number, self.compute)


def read_features(path: Path) -> list[dict[str, Any]]:
    return json.loads(gzip.decompress(path.read_bytes()))["features"]


def list_shapes(path: Path) -> set[str]:
    """Return the objects without their ids, which follow from the plan."""
    found = read_features(path)
    shapes = {json.dumps([one["geometry"], one["properties"]], sort_keys=True) for one in found}
    assert len(shapes) == len(found), "an object is in the file twice"
    return shapes
