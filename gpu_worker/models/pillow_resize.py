"""Pillow's resize of 8-bit pictures (`wsi.slide.resample.resize_as_pillow`) byte for byte as products of matrices: for
devices that Pillow does not run on.

Pillow sums products of 8-bit greys and 22-bit weights in whole numbers. Each weight is parted in two signed halves of
12 bits. Fp16 holds a grey and a half, fp32 holds every sum of their products, which stays below 2 ** 24, in whatever
order it is made. So no kernel of any device rounds, but where Pillow does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from wsi.errors import ModelError
from wsi.model_card import Resize
from wsi.slide.resample import PILLOW_BITS, pillow_weights

#: fp32 has all whole numbers to 2 ** 24, fp16 to 2 ** 11.
_FP32, _FP16_BITS = 2**24, 11
#: With fewer bits in the fine half, sums with the coarse one would pass 2 ** 24.
_LEAST_SHIFT = 7


class PillowResize:
    """[n, height, width, 3] uint8 -> [n, side, side, 3], whole numbers from 0 to 255 in fp16 on a CUDA device and in
    fp32 elsewhere; what has the side already is given back."""

    def __init__(self, resize: Resize, side: int, device: torch.device) -> None:
        self._resize = resize
        self._side = side
        self._device = device
        self._dtype = torch.float16 if device.type == "cuda" else torch.float32
        self._axes: dict[tuple[int, bool], _Axis] = {}

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        """Waits for nothing, but for the weights of a new shape. Raises ModelError as `halves` does."""
        count, height, width, _ = pixels.shape
        side = self._side
        if (height, width) == (side, side):
            return pixels
        shape = (count, 3, height, width)
        planes = torch.empty(shape, dtype=self._dtype, device=self._device).copy_(pixels.permute(0, 3, 1, 2))
        if width != side:
            planes = self._across(planes.view(-1, width)).view(count, 3, height, side)
        if height != side:
            planes = self._down(planes.view(count * 3, height, side)).view(count, 3, side, side)
        return planes.permute(0, 2, 3, 1)

    def _across(self, rows: torch.Tensor) -> torch.Tensor:
        """[m, width] -> [m, side]."""
        axis = self._axis(rows.shape[1], across=True)
        return axis.rounded(_rows_times(rows, axis.coarse), _rows_times(rows, axis.fine))

    def _down(self, planes: torch.Tensor) -> torch.Tensor:
        """[m, height, side] -> [m, side, side]."""
        axis = self._axis(planes.shape[1], across=False)
        return axis.rounded(_times_each(axis.coarse, planes), _times_each(axis.fine, planes))

    def _axis(self, length: int, *, across: bool) -> _Axis:
        if (length, across) not in self._axes:
            weights = pillow_weights(length, self._side, self._resize)
            parts = halves(weights)
            coarse, fine = (half.T if across else half for half in (parts.coarse, parts.fine))
            self._axes[length, across] = _Axis(
                coarse=self._matrix(coarse),
                fine=self._matrix(fine),
                shift=parts.shift,
                cuts=bool((weights < 0).any()),
            )
        return self._axes[length, across]

    def _matrix(self, half: NDArray[np.int32]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(half)).to(self._device, self._dtype)


def _rows_times(rows: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """In fp32, whatever the factors are."""
    return torch.mm(rows, matrix, out_dtype=torch.float32) if rows.is_cuda else rows @ matrix


def _times_each(matrix: torch.Tensor, planes: torch.Tensor) -> torch.Tensor:
    each = matrix.expand(len(planes), *matrix.shape)
    return torch.bmm(each, planes, out_dtype=torch.float32) if planes.is_cuda else torch.bmm(each, planes)


@dataclass(frozen=True, slots=True)
class _Axis:
    coarse: torch.Tensor
    fine: torch.Tensor
    shift: int
    cuts: bool  #: whether sums may lie outside 0..255

    def rounded(self, coarse: torch.Tensor, fine: torch.Tensor) -> torch.Tensor:
        """(coarse * 2 ** shift + fine + 2 ** 21) >> 22 of the sums, in the type of the factors."""
        rest = PILLOW_BITS - self.shift
        total = fine.div_(2.0**self.shift, rounding_mode="floor").add_(2.0 ** (rest - 1)).add_(coarse)
        greys = torch.empty(total.shape, dtype=self.coarse.dtype, device=total.device)
        torch.div(total, 2.0**rest, rounding_mode="floor", out=greys)
        return greys.clamp_(0, 255) if self.cuts else greys


@dataclass(frozen=True, slots=True)
class Halves:
    """Of weights: coarse * 2 ** shift + fine."""

    coarse: NDArray[np.int32]  #: [target, source]
    fine: NDArray[np.int32]  #: [target, source]
    shift: int


def halves(weights: NDArray[np.int32]) -> Halves:
    """Raises ModelError where sums could pass what fp32 holds: in bicubic above a factor of about 300, in bilinear of
    600."""
    shift = max(_LEAST_SHIFT, int(np.abs(weights).max()).bit_length() - _FP16_BITS)
    coarse = (weights + (1 << shift - 1)) >> shift
    fine = weights - (coarse << shift)
    largest = max(255 * int(np.abs(half).sum(axis=1).max()) for half in (coarse, fine))
    # Half a grey value, and what the fine sum carries over to the coarse one, are far less than this.
    if largest + (1 << PILLOW_BITS - 1) >= _FP32:
        target, source = weights.shape
        raise ModelError(f"Boxes of {source} px are too large to be shrunken to {target} px as Pillow does.")
    return Halves(coarse=coarse, fine=fine, shift=shift)
