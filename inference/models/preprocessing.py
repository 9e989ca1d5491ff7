"""Preprocessing of decoded pixels to a network's input, on the device: resize, normalise, lay out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from inference.models.pillow_resize import PillowResize
from inference.models.stains.normalisation import StainNormaliser
from wsi.records.model_card import Channels, ModelCard, Resize
from wsi.slide.resample import compute_antialias_weights, resize_as_pillow

#: Subtracted before a resize in sixteen bits: between 128 and 255 fp16 has steps of 0.125, around 0 far finer ones.
_MIDDLE = 128.0


class Preprocessing:
    """The preprocessing from [batch, height, width, 3] uint8 to [batch, 3, input_px, input_px] of `dtype`.

    A card that resizes as Pillow gets Pillow's bytes on every device, in every precision. Otherwise the resize is the
    antialiased triangle of `wsi.slide.resample`, one matrix product for each axis. In fp32 each step is fp32. For a
    network of sixteen bits a CUDA device multiplies in fp16, on its tensor cores, and reads and writes the batch as few
    times as it can. Before it is rounded to `dtype` the input then differs by at most 0.12 grey values, where PIL
    itself rounds to whole ones.

    Stain normalisation gets the resized tile in whole grey values, since the published methods take 8-bit images. Mean
    and std are applied after it.
    """

    def __init__(
        self, card: ModelCard, device: torch.device, dtype: torch.dtype, *, products: torch.dtype | None = None
    ) -> None:
        """Prepare the card's steps. `products`: the type that a resize for sixteen bits multiplies in, in place of fp16
        on CUDA and fp32 elsewhere."""
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
        self._matrices: dict[tuple[int, str, torch.dtype], torch.Tensor] = {}
        self._resized = _as_pillow(card, device)
        stated = card.stain_normalisation
        self._normaliser = None if stated is None else StainNormaliser(stated, device)

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        pixels = self._resized(pixels)
        if self._normaliser is not None:
            pixels = self._normaliser(self._whole(pixels))
        planes = self._exact(pixels) if self._dtype == torch.float32 else self._short(pixels)
        return planes.flip(1) if self._turns else planes

    def _exact(self, pixels: torch.Tensor) -> torch.Tensor:
        return (self._planes(pixels) - self._mean) / self._std

    def _whole(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the tiles in whole grey values, [batch, input_px, input_px, 3], resized in fp32."""
        if pixels.shape[1:3] == (self._side, self._side):
            return pixels
        return self._planes(pixels).round().clamp(0, 255).permute(0, 2, 3, 1)

    def _planes(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the resized grey values, [batch, 3, input_px, input_px] fp32."""
        planes = pixels.permute(0, 3, 1, 2).float()
        height, width = planes.shape[-2:]
        if height != self._side:
            planes = self._matrix(height, "rows", torch.float32) @ planes
        if width != self._side:
            planes = planes @ self._matrix(width, "rows", torch.float32).T
        return planes

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
        """Return the weights of a resize. "rows": [input_px, side]. "interleaved": [side * 3, input_px * 3], from R, G,
        B side by side to the same."""
        if (side, form, dtype) not in self._matrices:
            weights = compute_antialias_weights(side, self._side)
            if form == "interleaved":
                weights = np.kron(weights.T, np.eye(3, dtype=np.float32))
            self._matrices[side, form, dtype] = torch.from_numpy(weights).to(self._device, dtype)
        return self._matrices[side, form, dtype]


def _as_pillow(card: ModelCard, device: torch.device) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return Pillow's resize to the network's side; the identity for a card with the exact resize, which comes
    later."""
    if card.resize is Resize.EXACT:
        return lambda pixels: pixels
    if device.type != "cpu":
        return PillowResize(card.resize, card.input_px, device)
    # This takes 1.7 ms for a tile of 448 px to 224; products of matrices that are mostly zeros take 14 ms.
    return lambda pixels: torch.from_numpy(resize_as_pillow(pixels.numpy(), card.input_px, card.resize))
