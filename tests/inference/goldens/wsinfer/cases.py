"""What WSInfer was run on for the tables in this folder: packages of a small network, and slides.

Imported by `make.py` under WSInfer's own environment and by the tests under ours, so that both see the same files.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
import torch

from tests.inference.packages import CONFIG, write_package
from tests.shared_slides import shared_slide
from tests.slides import GLASS, he_tissue, write_svs

FOLDER = Path(__file__).parent


class Fields(torch.nn.Module):
    """[n, 3, height, width] to [n, classes] logits: eight mixtures of colours, softly over 7 x 7 px, cut off below 0,
    their means over 4 x 4 fields, one linear layer.

    Weights are cosines, the same on every machine. Each field weighs differently, so that a tile moved, turned or
    given to the wrong row has another score.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.mix = torch.nn.Conv2d(3, 8, 7, stride=4)
        self.last = torch.nn.Linear(8 * 16, classes)
        window = torch.hann_window(9, periodic=False)[1:-1]
        with torch.no_grad():
            self.mix.weight.copy_(cosines(1.3, 8, 3, 1, 1) * torch.outer(window, window) / window.sum() ** 2)
            self.mix.bias.copy_(cosines(0.7, 8))
            self.last.weight.copy_(cosines(0.9, classes, 8 * 16) * 0.5)
            self.last.bias.zero_()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        fields = torch.nn.functional.adaptive_avg_pool2d(torch.relu(self.mix(x)), [4, 4])
        return self.last(fields.flatten(1))


def cosines(step: float, *shape: int) -> torch.Tensor:
    return torch.cos(torch.arange(math.prod(shape)) * step).reshape(shape)


def normalised(*resize: int) -> list[dict[str, Any]]:
    """A package's transform; `resize` is the input's side where it is not the tile's."""
    means = {"mean": [0.7238, 0.5716, 0.6779], "std": [0.112, 0.1459, 0.1089]}
    steps: list[dict[str, Any]] = [{"name": "Resize", "arguments": {"size": side}} for side in resize]
    return [*steps, {"name": "ToTensor"}, {"name": "Normalize", "arguments": means}]


def package(folder: Path, **changes: Any) -> Path:
    """`changes` of the config that all of them share: 256 px at 0.5, classes Other and Tumor."""
    classes = len(changes.get("class_names", CONFIG["class_names"]))
    module = Fields(classes).eval()
    return write_package(folder / "fields", module, architecture="fields", num_classes=classes, **changes)


def two_logits(folder: Path) -> Path:
    """256 px at 0.5, no resize: the network sees the slide's own pixels."""
    return package(folder, transform=normalised())


def two_logits_at_0499(folder: Path) -> Path:
    """256 px at 0.499, no resize: the real region's own scale."""
    return package(folder, transform=normalised(), spacing_um_px=0.499)


def one_logit(folder: Path) -> Path:
    """256 px at 0.5, shrunken to 96."""
    return package(folder, transform=normalised(96), class_names=["Tumor"])


def fine(folder: Path) -> Path:
    """350 px at 0.25 as most of the zoo has it: shrunken to 224 on a slide of 0.25, enlarged to it on one of 0.5."""
    return package(folder, transform=normalised(224), patch_size_pixels=350, spacing_um_px=0.25)


def coarse(folder: Path) -> Path:
    """100 px at 1: WSInfer shrinks 200 px of level 0, we read 100 px of the level of a half."""
    return package(folder, transform=normalised(100), patch_size_pixels=100, spacing_um_px=1.0)


def block_at_half_a_micron(folder: Path) -> Path:
    """11 x 9 boxes of 256 px, 7 x 6 of them with tissue, those on its edge eight tenths full."""
    block = (512 + 51, 256 + 51, 2304 - 51, 1792 - 51)
    return write_svs(folder / "half.svs", width=2750, height=2200, tissue=block, associated=False)


def block_at_a_quarter(folder: Path) -> Path:
    """9 x 7 boxes of 350 px; the tissue's last column and row pass the slide's edge."""
    block = (700 + 70, 700 + 70, 3000, 2300)
    return write_svs(folder / "quarter.svs", width=3000, height=2300, tissue=block, mpp=0.25, associated=False)


def real_region(_folder: Path) -> Path:
    return shared_slide("real/aperio-jpeg-20x.CMU-1-Small-Region.svs")


def pyramid(folder: Path) -> Path:
    """5 x 4 boxes of 200 px on glass, in levels that are lossless means of 2 x 2 px of the one before."""
    pixels = np.full((1200, 1600, 3), GLASS, np.uint8)
    rng = np.random.default_rng(0)
    for top, left in itertools.product(range(200, 1000, 200), range(200, 1200, 200)):
        pixels[top : top + 200, left : left + 200] = he_tissue(rng, 200, 200)
    with tifffile.TiffWriter(folder / "pyramid.tif") as writer:
        for downsample in (1, 2, 4):
            density = 10_000 / (0.5 * downsample)
            writer.write(
                pixels,
                tile=(256, 256),
                compression="zlib",
                photometric="rgb",
                resolution=(density, density),
                resolutionunit="CENTIMETER",
                subfiletype=int(downsample > 1),
                metadata=None,
            )
            height, width = pixels.shape[0] // 2, pixels.shape[1] // 2
            pixels = pixels.reshape(height, 2, width, 2, 3).mean(axis=(1, 3)).round().astype(np.uint8)
    return folder / "pyramid.tif"


@dataclass(frozen=True, slots=True)
class Case:
    """One run of WSInfer: `<package>.<slide>.csv` in this folder."""

    package: Callable[[Path], Path]
    slide: Callable[[Path], Path]
    #: Of a score: 1e-5 where level 0 is read, resized or not, 1e-2 where we read a coarser level.
    tolerance: float

    @property
    def table(self) -> Path:
        return FOLDER / f"{self.package.__name__}.{self.slide.__name__}.csv".replace("_", "-")


#: Both find the same tissue here, so that both take the same boxes unasked.
BLOCKS = (
    Case(two_logits, block_at_half_a_micron, 1e-5),
    Case(one_logit, block_at_half_a_micron, 1e-5),
    Case(fine, block_at_a_quarter, 1e-5),
    Case(coarse, pyramid, 1e-2),
)
#: Each finds tissue in its own way here.
REAL = (
    Case(two_logits_at_0499, real_region, 1e-5),
    Case(one_logit, real_region, 1e-5),
    Case(fine, real_region, 1e-5),
)
