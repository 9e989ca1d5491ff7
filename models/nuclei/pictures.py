"""The one annotated picture, what the network is to say of it, and its four quadrants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

PICTURE, MASK = "histolytics.hgsc_nest.jpg", "histolytics.hgsc_nest_inst_mask.npz"
QUADRANTS = ("top-left", "top-right", "bottom-left", "bottom-right")


@dataclass(frozen=True, eq=False)
class Annotated:
    """A picture, [height, width, 3] uint8, and its nuclei, [height, width] int32: 0 between them, a number for each."""

    pixels: NDArray[np.uint8]
    nuclei: NDArray[np.int32]

    def cut(self, quadrant: int) -> tuple[slice, slice]:
        """Return the rows and columns of a quadrant, numbered as in QUADRANTS."""
        height, width = self.nuclei.shape
        row, column = divmod(quadrant, 2)
        return (
            slice(row * height // 2, (row + 1) * height // 2),
            slice(column * width // 2, (column + 1) * width // 2),
        )


def read_annotated(folder: Path) -> Annotated:
    """Return the picture with masks of `folder`."""
    with np.load(folder / MASK) as mask, Image.open(folder / PICTURE) as picture:
        return Annotated(pixels=np.asarray(picture.convert("RGB")), nuclei=mask["nuc_raster"])


def measure_depth(nuclei: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return how deep each pixel lies in its nucleus, 0 outside and 1 at the deepest: its distance to the nearest pixel
    that is not of the same nucleus, in parts of the largest such distance there."""
    depth = np.zeros(nuclei.shape, np.float32)
    for number, box in enumerate(ndimage.find_objects(nuclei), start=1):
        if box is None:
            continue
        inside = np.pad(nuclei[box] == number, 1)
        distance = ndimage.distance_transform_edt(inside)[1:-1, 1:-1]
        depth[box] = np.maximum(depth[box], distance / distance.max())
    return depth
