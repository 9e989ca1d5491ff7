"""From decoded pixels to a network's input, on the device: resize, normalise, lay out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from gpu_worker.models.pillow_resize import PillowResize
from wsi.model_card import Channels, ModelCard, Resize
from wsi.slide.resample import antialias_weights, resize_as_pillow

#: Subtracted before a resize in sixteen bits: between 128 and 255 fp16 has steps of 0.125, around 0 far finer ones.
_MIDDLE = 128.0


class Preprocessing:
    """[batch, height, width, 3] uint8 -> [batch, 3, input_px, input_px] of `dtype`.

    A card that resizes as Pillow gets Pillow's bytes on every device, in every precision. Otherwise the resize is the
    antialiased triangle of `wsi.slide.resample`, one matrix product an axis. In fp32 each step is fp32. For a network
    of sixteen bits a CUDA device multiplies in fp16, on its tensor cores, and reads and writes the batch as few times
    as it can: before it is rounded to `dtype` the input is off by 0.12 grey values at most, where PIL itself rounds to
    whole ones.
    """

    def __init__(
        self, card: ModelCard, device: torch.device, dtype: torch.dtype, *, products: torch.dtype | None = None
    ) -> None:
        """`products`: what a resize for sixteen bits multiplies in, in place of the device's own."""
        self._side = card.input_px
        self._device = device
        self._dtype = dtype
        self._products = products or (torch.float16 if device.type == "cuda" else torch.float32)
        self._turns = card.channels is Channels.BGR
        mean, std = (values[::-1] if self._turns else values for values in (card.mean, card.std))
        self._mean = torch.tensor(mean, device=device).view(1, 3, 1, 1) * 255
        self._std = torch.tensor(std, device=device).view(1, 3, 1, 1) * 255
        self._scale = 1 / self._std
        self._shifts = {middle: (middle - self._mean) / self._std for middle in (0.0, _MIDDLE)}
        self._matrices: dict[tuple[int, str], torch.Tensor] = {}
        self._resized = _as_pillow(card, device)

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        pixels = self._resized(pixels)
        planes = self._exact(pixels) if self._dtype == torch.float32 else self._short(pixels)
        return planes.flip(1) if self._turns else planes

    def _exact(self, pixels: torch.Tensor) -> torch.Tensor:
        planes = pixels.permute(0, 3, 1, 2).float()
        height, width = planes.shape[-2:]
        if height != self._side:
            planes = self._matrix(height, "rows", torch.float32) @ planes
        if width != self._side:
            planes = planes @ self._matrix(width, "rows", torch.float32).T
        return (planes - self._mean) / self._std

    def _short(self, pixels: torch.Tensor) -> torch.Tensor:
        count, height, width, _ = pixels.shape
        side, middle = self._side, 0.0
        if (height, width) != (side, side):
            middle = _MIDDLE
            pixels = torch.sub(pixels, middle, out=self._empty(pixels.shape, self._products))
            rows = pixels.view(count, height, width * 3)
            if height != side:
                rows = self._matrix(height, "rows", self._products) @ rows
            if width != side:
                rows = rows.reshape(count * side, width * 3) @ self._matrix(width, "interleaved", self._products)
            pixels = rows.reshape(count, side, side, 3)
        # One pass, calculated in fp32 and written as `dtype`.
        normal = self._empty((count, side, side, 3), self._dtype).permute(0, 3, 1, 2)
        return torch.addcmul(self._shifts[middle], pixels.permute(0, 3, 1, 2), self._scale, out=normal)

    def _empty(self, shape: torch.Size | tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype, device=self._device)

    def _matrix(self, side: int, form: str, dtype: torch.dtype) -> torch.Tensor:
        """ "rows": [input_px, side]. "interleaved": [side * 3, input_px * 3], from R, G, B side by side to the same."""
        if (side, form) not in self._matrices:
            weights = antialias_weights(side, self._side)
            if form == "interleaved":
                weights = np.kron(weights.T, np.eye(3, dtype=np.float32))
            self._matrices[side, form] = torch.from_numpy(weights).to(self._device, dtype)
        return self._matrices[side, form]


def _as_pillow(card: ModelCard, device: torch.device) -> Callable[[torch.Tensor], torch.Tensor]:
    """What gives pixels the side that the network takes; of a card with the exact resize nothing does, beforehand."""
    if card.resize is Resize.EXACT:
        return lambda pixels: pixels
    if device.type != "cpu":
        return PillowResize(card.resize, card.input_px, device)
    # 1.7 ms a tile of 448 px to 224; products of matrices that are mostly zeros take 14.
    return lambda pixels: torch.from_numpy(resize_as_pillow(pixels.numpy(), card.input_px, card.resize))
