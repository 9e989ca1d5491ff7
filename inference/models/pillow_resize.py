"""Pillow's resize of 8-bit images (`wsi.slide.resample.resize_as_pillow`) byte for byte as products of matrices: for
devices that Pillow does not run on.

Pillow sums products of 8-bit greys and 22-bit weights in whole numbers. Each weight is split into two signed halves of
12 bits. Fp16 holds a grey and a half. Fp32 holds every sum of their products, which stays below 2 ** 24 in any order of
the terms. So kernels round on no device, except where Pillow does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from wsi.errors import ModelError
from wsi.records.model_card import Resize
from wsi.slide.resample import PILLOW_BITS, compute_pillow_weights

#: fp32 has all whole numbers to 2 ** 24, fp16 to 2 ** 11.
_FP32, _FP16_BITS = 2**24, 11
#: With fewer bits in the fine half, sums with the coarse one would pass 2 ** 24.
_LEAST_SHIFT = 7


class PillowResize:
    """The resize of [n, height, width, 3] uint8 to [n, side, side, 3], whole numbers from 0 to 255 in fp16 on a CUDA
    device and in fp32 elsewhere. Tiles that have the side already are returned as they are."""

    def __init__(self, resize: Resize, side: int, device: torch.device) -> None:
        self._resize = resize
        self._side = side
        self._device = device
        self._dtype = torch.float16 if device.type == "cuda" else torch.float32
        self._axes: dict[tuple[int, bool], _Axis] = {}

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        """Resize the pixels. It waits only for the weights of a new shape. Raises ModelError as `split_weights`
        does."""
        count, height, width, _ = pixels.shape
        side = self._side
        if (height, width) == (side, side):
            return pixels
        shape = (count, 3, height, width)
        planes = torch.empty(shape, dtype=self._dtype, device=self._device).copy_(pixels.permute(0, 3, 1, 2))
        if width != side:
            axis, rows = self._axis(width, across=True), planes.view(1, -1, width)
            planes = axis.greys((rows, axis.fine.unsqueeze(0)), (rows, axis.coarse.unsqueeze(0)))
        if height != side:
            axis, planes = self._axis(height, across=False), planes.view(count * 3, height, side)
            fine, coarse = (half.expand(count * 3, side, height) for half in (axis.fine, axis.coarse))
            planes = axis.greys((fine, planes), (coarse, planes))
        return planes.view(count, 3, side, side).permute(0, 2, 3, 1)

    def _axis(self, length: int, *, across: bool) -> _Axis:
        if (length, across) not in self._axes:
            weights = compute_pillow_weights(length, self._side, self._resize)
            parts = split_weights(weights)
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


Factors = tuple[torch.Tensor, torch.Tensor]  #: [m, a, b] and [m, b, c]


@dataclass(frozen=True, slots=True)
class _Axis:
    """Weights along one axis, as `Halves`; transposed for the horizontal axis."""

    coarse: torch.Tensor
    fine: torch.Tensor
    shift: int
    cuts: bool  #: whether sums may be outside 0..255

    def greys(self, fine: Factors, coarse: Factors) -> torch.Tensor:
        """Return (coarse * 2 ** shift + fine + 2 ** 21) >> 22 of the products, in the type of their factors."""
        sums = _product(fine).add_(2.0 ** (PILLOW_BITS - 1)).div_(2.0**self.shift, rounding_mode="floor")
        _add_product(sums, coarse)
        greys = torch.empty(sums.shape, dtype=self.coarse.dtype, device=sums.device)
        torch.div(sums, 2.0 ** (PILLOW_BITS - self.shift), rounding_mode="floor", out=greys)
        return greys.clamp_(0, 255) if self.cuts else greys


def _product(factors: Factors) -> torch.Tensor:
    """Return the product in fp32, whatever the types of the factors are."""
    return torch.bmm(*factors, out_dtype=torch.float32) if factors[0].is_cuda else torch.bmm(*factors)


def _add_product(sums: torch.Tensor, factors: Factors) -> None:
    if sums.is_cuda:
        torch.baddbmm(sums, *factors, out_dtype=torch.float32, out=sums)
    else:
        sums.baddbmm_(*factors)


@dataclass(frozen=True, slots=True)
class Halves:
    """Weights in two halves: coarse * 2 ** shift + fine."""

    coarse: NDArray[np.int32]  #: [target, source]
    fine: NDArray[np.int32]  #: [target, source]
    shift: int


def split_weights(weights: NDArray[np.int32]) -> Halves:
    """Split weights into halves. Raises ModelError where sums could pass what fp32 holds: in bicubic above a factor of
    about 300, in bilinear of 600."""
    shift = max(_LEAST_SHIFT, int(np.abs(weights).max()).bit_length() - _FP16_BITS)
    coarse = (weights + (1 << shift - 1)) >> shift
    fine = weights - (coarse << shift)
    largest = max(255 * int(np.abs(half).sum(axis=1).max()) for half in (coarse, fine))
    # Plus half a grey value for rounding: the coarse sum gets its part of it with the carry of the fine one.
    if largest + (1 << PILLOW_BITS - 1) >= _FP32:
        target, source = weights.shape
        raise ModelError(f"Boxes of {source} px are too large to be shrunken to {target} px as Pillow does.")
    return Halves(coarse=coarse, fine=fine, shift=shift)
