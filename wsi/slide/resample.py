"""The resizing of patches to a model's size with the filter that models were trained with: PIL's BILINEAR, a triangle
that widens with the factor (antialiasing). Results keep fractions of grey values, or are the whole numbers that PIL
computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wsi.records.model_card import Resize

#: Pillow's weights are whole multiples of 2 ** -22 (PRECISION_BITS in src/libImaging/Resample.c).
PILLOW_BITS = 22

Filter = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def compute_antialias_weights(source: int, target: int) -> NDArray[np.float32]:
    """Return [target, source], rows sum to 1: how much each source pixel gives to each target pixel along one side."""
    factor = source / target
    reach = max(factor, 1.0)  # px on each side; enlarging keeps the plain triangle.
    centres = (np.arange(target) + 0.5) * factor
    distances = np.abs(np.arange(source) + 0.5 - centres[:, None]) / reach
    weights = np.clip(1 - distances, 0, None)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def resize(batch: NDArray[np.uint8], target: int) -> NDArray[np.float32]:
    """Resize [n, height, width, 3] uint8 to [n, target, target, 3] float32 in 0..255, each axis by its own factor. An
    item's result does not depend on what else is in the batch: each is a matrix product of its own."""
    return _rows(_rows(batch.astype(np.float32), target).transpose(0, 2, 1, 3), target).transpose(0, 2, 1, 3)


def _rows(pixels: NDArray[np.float32], target: int) -> NDArray[np.float32]:
    """Resize [n, rows, columns, 3] to [n, target, columns, 3]."""
    count, rows, columns = pixels.shape[:3]
    if rows == target:
        return pixels
    products = compute_antialias_weights(rows, target) @ pixels.reshape(count, rows, columns * 3)
    return products.reshape(count, target, columns, 3)


def resize_as_pillow(batch: NDArray[np.uint8], target: int, resize: Resize) -> NDArray[np.uint8]:
    """Resize [n, height, width, 3] to [n, target, target, 3], each axis rounded to whole grey values: across first,
    then down. `PIL.Image.resize` does the same with squares; since Pillow 13 it does an image whose height shrinks far
    more than its width the other way round. Raises KeyError for Resize.EXACT."""
    kind = _KINDS[resize]
    height = batch.shape[1]
    tiles = (Image.fromarray(tile).resize((target, height), kind).resize((target, target), kind) for tile in batch)
    return np.stack([np.asarray(tile) for tile in tiles])


def resample_box(pixels: NDArray[np.uint8], box: NDArray[np.float64], target: int, resize: Resize) -> NDArray[np.uint8]:
    """Resample a box of [height, width, 3] to [target, target, 3]. The box (left, top, right, bottom in px of `pixels`)
    is taken at its fractions of a pixel, out of the whole pixels that it touches, as `PIL.Image.resize` does with a
    `box`: across first, where Pillow 13 may begin down and then differs by a grey value here and there. For
    Resize.EXACT, whose filter is Pillow's too, fractions of grey values are kept until the end and rounded once."""
    left, top = np.floor(box[:2]).astype(int).tolist()
    right, bottom = np.ceil(box[2:]).astype(int).tolist()
    touched = pixels[top:bottom, left:right]
    across, down = (float(box[0]) - left, float(box[2]) - left), (float(box[1]) - top, float(box[3]) - top)
    if resize is not Resize.EXACT:
        return np.asarray(_sample_box(Image.fromarray(touched), across, down, target, _KINDS[resize]))
    planes = (Image.fromarray(touched[..., channel].astype(np.float32)) for channel in range(3))
    exact = [np.asarray(_sample_box(plane, across, down, target, Image.Resampling.BILINEAR)) for plane in planes]
    return np.rint(np.stack(exact, axis=-1)).astype(np.uint8)


def _sample_box(
    image: Image.Image, across: tuple[float, float], down: tuple[float, float], target: int, kind: Image.Resampling
) -> Image.Image:
    """Resize a box across first, then down, as `resize_as_pillow` does."""
    narrow = image.resize((target, image.height), kind, box=(across[0], 0, across[1], image.height))
    return narrow.resize((target, target), kind, box=(0, down[0], target, down[1]))


def compute_pillow_weights(source: int, target: int, resize: Resize) -> NDArray[np.int32]:
    """Return [target, source]: the weights by which Pillow multiplies the 8-bit pixels along one axis. A new pixel is
    (sum of weight x grey + 2 ** 21) >> 22, cut to 0..255. Raises KeyError for Resize.EXACT."""
    factor = source / target
    centres = (np.arange(target) + 0.5) * factor
    # Each step, and the sum from left to right, as in its C code: a weight's last bit decides where a tie falls.
    distances = np.abs((np.arange(source) - centres[:, None] + 0.5) * (1.0 / max(factor, 1.0)))
    weights = _FILTERS[resize](distances)
    weights /= weights.cumsum(axis=1)[:, -1:]
    return np.trunc(weights * 2.0**PILLOW_BITS + np.copysign(0.5, weights)).astype(np.int32)


def _triangle(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(1.0 - distance, 0.0, None)


def _cubic(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    near = (1.5 * distance - 2.5) * distance * distance + 1.0
    far = (((distance - 5.0) * distance + 8.0) * distance - 4.0) * -0.5
    return np.where(distance < 1.0, near, np.where(distance < 2.0, far, 0.0))


#: Of the distance, in source px or, where the image shrinks, in target px.
_FILTERS: Mapping[Resize, Filter] = MappingProxyType({Resize.PILLOW_BILINEAR: _triangle, Resize.PILLOW_BICUBIC: _cubic})
_KINDS: Mapping[Resize, Image.Resampling] = MappingProxyType(
    {Resize.PILLOW_BILINEAR: Image.Resampling.BILINEAR, Resize.PILLOW_BICUBIC: Image.Resampling.BICUBIC}
)
