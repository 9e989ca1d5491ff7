"""A card and the same pipeline as an engineer writes it, in OpenSlide, PIL, numpy and torch: `compared` runs both over
one slide. Nothing here calls our code but `tessera run`."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openslide
import torch
from numpy.typing import NDArray
from PIL import Image
from typer.testing import CliRunner

from tessera.cli import app
from tests.inference.packages_with_card import seeded, write_card_package
from tests.inference.stain_oracles import macenko, reinhard
from wsi.records.stain_normalisation import PUBLISHED, Reinhard

INPUT = 96
MEAN, STD = (0.7, 0.55, 0.65), (0.15, 0.2, 0.15)
MACENKO = {
    "method": "macenko",
    "stain_vectors": [list(vector) for vector in PUBLISHED.stain_vectors],
    "max_concentrations": list(PUBLISHED.max_concentrations),
}
REFERENCE = Reinhard(means=(66.0, 21.5, -12.25), stds=(13.5, 8.0, 5.5))
REINHARD = {"method": "reinhard", "means": list(REFERENCE.means), "stds": list(REFERENCE.stds)}

Tile = NDArray[np.float32]  #: [INPUT, INPUT, 3] grey values
Pipeline = Callable[[openslide.OpenSlide, int, int, int], Tile]  #: of the slide, x, y and side at level 0


def network() -> torch.nn.Module:
    """A small convolutional network whose probabilities move by tenths where a tile's grey values move by some."""
    import timm

    with seeded(1):
        module = timm.create_model("test_resnet", num_classes=3).eval()
        with torch.no_grad():
            module.get_classifier().weight.mul_(200)
    return module


def from_level_0(filter_: Image.Resampling) -> Pipeline:
    def tile(slide: openslide.OpenSlide, x: int, y: int, side: int) -> Tile:
        read = slide.read_region((x, y), 0, (side, side)).convert("RGB")
        return np.asarray(read.resize((INPUT, INPUT), filter_), np.float32)

    return tile


def in_floats(slide: openslide.OpenSlide, x: int, y: int, side: int) -> Tile:
    read = np.asarray(slide.read_region((x, y), 0, (side, side)).convert("RGB"), np.float32)
    planes = torch.from_numpy(read).permute(2, 0, 1)[None]
    small = torch.nn.functional.interpolate(planes, (INPUT, INPUT), mode="bilinear", antialias=True)
    return small[0].permute(1, 2, 0).numpy()


def from_openslides_level(slide: openslide.OpenSlide, x: int, y: int, side: int) -> Tile:
    """OpenSlide takes the corner in level-0 px and itself moves the level's pixels by a fraction of one."""
    size = round(side / slide.level_downsamples[1])
    read = slide.read_region((x, y), 1, (size, size)).convert("RGB")
    return np.asarray(read.resize((INPUT, INPUT), Image.Resampling.BILINEAR), np.float32)


def from_whole_pixels(slide: openslide.OpenSlide, x: int, y: int, side: int) -> Tile:
    scale = slide.level_downsamples[1]
    left, top, size = round(x / scale), round(y / scale), round(side / scale)
    level = _level_1(slide).crop((left, top, left + size, top + size))
    return np.asarray(level.resize((INPUT, INPUT), Image.Resampling.BILINEAR), np.float32)


def from_exact_box(slide: openslide.OpenSlide, x: int, y: int, side: int) -> Tile:
    scale = slide.level_downsamples[1]
    left, top = int(x / scale), int(y / scale)
    right, bottom = (x + side) / scale - left, (y + side) / scale - top
    crop = _level_1(slide).crop((left, top, left + int(np.ceil(right)), top + int(np.ceil(bottom))))
    box = (x / scale - left, y / scale - top, right, bottom)
    return np.asarray(crop.resize((INPUT, INPUT), Image.Resampling.BILINEAR, box=box), np.float32)


def _level_1(slide: openslide.OpenSlide) -> Image.Image:
    """All of it, on whole pixels, with black past its edge."""
    width, height = slide.level_dimensions[1]
    canvas = Image.new("RGB", (width + 500, height + 500), "black")
    canvas.paste(slide.read_region((0, 0), 1, (width, height)).convert("RGB"))
    return canvas


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    card: Mapping[str, Any]
    plain: Pipeline
    normalise: Callable[[NDArray[np.uint8]], NDArray[np.uint8]] | None = None
    turned: bool = False
    most: float = 1e-4  #: that probabilities may differ by


BILINEAR, BICUBIC = Image.Resampling.BILINEAR, Image.Resampling.BICUBIC
FINEST = {"read_level": "finest", "resize": "pillow-bilinear"}
SUITABLE = {"resize": "pillow-bilinear"}
RESAMPLED = {**SUITABLE, "boxes": "resampled"}

#: The same pipeline twice.
CASES = (
    Case(name="level 0, pillow-bilinear", card=FINEST, plain=from_level_0(BILINEAR)),
    Case(name="level 0, pillow-bicubic", card={**FINEST, "resize": "pillow-bicubic"}, plain=from_level_0(BICUBIC)),
    Case(name="level 0, exact", card={**FINEST, "resize": "exact"}, plain=in_floats),
    Case(name="level 0, BGR", card={**FINEST, "channels": "BGR"}, plain=from_level_0(BILINEAR), turned=True),
    Case(
        name="level 0, Macenko",
        card={**FINEST, "stain_normalisation": MACENKO},
        plain=from_level_0(BILINEAR),
        normalise=lambda tile: macenko(tile, PUBLISHED),
        most=2e-3,  # here and there a grey value of the other side of a whole number
    ),
    Case(
        name="level 0, Reinhard",
        card={**FINEST, "stain_normalisation": REINHARD},
        plain=from_level_0(BILINEAR),
        normalise=lambda tile: reinhard(tile, REFERENCE),
        most=6e-2,  # CIELAB by the textbook, where OpenCV and we have its whole numbers
    ),
    Case(name="level 1, boxes whole", card=SUITABLE, plain=from_whole_pixels),
    Case(
        name="level 1, boxes resampled",
        card=RESAMPLED,
        plain=from_exact_box,
        most=5e-3,  # its edges are not rounded to 1/1024 px
    ),
)
#: Another pipeline than the card's: what that costs.
OTHERS = (
    Case(name="level 1, boxes whole, for exact boxes", card=SUITABLE, plain=from_exact_box),
    Case(name="level 1, boxes whole, for OpenSlide's level 1", card=SUITABLE, plain=from_openslides_level),
    Case(name="level 1, boxes resampled, for OpenSlide's level 1", card=RESAMPLED, plain=from_openslides_level),
    Case(name="level 1, boxes resampled, for level 0", card=RESAMPLED, plain=from_level_0(BILINEAR)),
    Case(
        name="level 0, no stain normalisation, for Macenko",
        card=FINEST,
        plain=from_level_0(BILINEAR),
        normalise=lambda tile: macenko(tile, PUBLISHED),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Found:
    tiles: int
    furthest: float  #: between probabilities
    mean: float
    changed: int  #: tiles whose class differs
    spread: float  #: standard deviation of our probabilities over the tiles: how much the network tells apart


def compared(case: Case, slide: Path, folder: Path, mpp: float | None = None) -> Found:
    """Run the card over the slide by `tessera run`, and the plain pipeline over the same tiles."""
    package = package_of(case, folder / "package")
    stated = ["--mpp", str(mpp)] if mpp is not None else []
    call = ["run", str(slide), "--model", str(package), "--out", str(folder / "out"), "--workers", "1", *stated]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader((folder / "out/tiles.csv").read_text().splitlines()))
    ours = np.array([[float(value) for name, value in row.items() if name.startswith("prob_")] for row in rows])
    places = [(int(row["minx"]), int(row["miny"]), int(row["width"])) for row in rows]
    theirs = by_hand(case, slide, places)
    apart = np.abs(ours - theirs)
    return Found(
        tiles=len(rows),
        furthest=float(apart.max()),
        mean=float(apart.mean()),
        changed=int((ours.argmax(1) != theirs.argmax(1)).sum()),
        spread=float(ours.std(axis=0).max()),
    )


def package_of(case: Case, folder: Path) -> Path:
    return write_card_package(
        folder,
        network(),
        **{"architecture": "timm/test_resnet", "architecture_arguments": {"num_classes": 3}},
        # OpenSlide gives black past the slide's edge, once its alpha is left away.
        **{"tile_px": 100, "mpp": 1.3, "input_px": INPUT, "mean": MEAN, "std": STD, "edge_fill": "black", "batch": 16},
        **case.card,
    )


def by_hand(case: Case, slide: Path, places: list[tuple[int, int, int]]) -> NDArray[np.float32]:
    """[tiles, 3] probabilities."""
    tiles: list[Tile] = []
    with openslide.OpenSlide(slide) as opened:
        for x, y, side in places:
            tile = case.plain(opened, x, y, side)
            if case.normalise is not None:
                tile = case.normalise(tile.astype(np.uint8)).astype(np.float32)
            tiles.append(tile[..., ::-1].copy() if case.turned else tile)
    planes = torch.from_numpy(np.stack(tiles)).permute(0, 3, 1, 2) / 255
    normal = (planes - torch.tensor(MEAN).view(1, 3, 1, 1)) / torch.tensor(STD).view(1, 3, 1, 1)
    module = network()
    with torch.inference_mode():
        return torch.softmax(torch.cat([module(part) for part in normal.split(16)]), 1).numpy()
