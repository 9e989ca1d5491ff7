"""A small fully convolutional network, whose output depends on a bounded neighbourhood.

U-Net (Ronneberger, Fischer & Brox, 2015) with batch normalisation, which is a constant once trained, and padded
convolutions, so that the output has the input's size. Nothing in it depends on the whole tile: far enough from a tile's
border, a pixel's output is the same wherever the tile begins, if that is at a multiple of the stride.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional


class UNet(nn.Module):
    """[batch, 3, height, width] to [batch, outputs, height, width]; sides are multiples of `2 ** (len(widths) - 1)`."""

    def __init__(self, widths: Sequence[int], outputs: int) -> None:
        super().__init__()
        below = [3, *widths[:-1]]
        self.down = nn.ModuleList(_Pair(taken, given) for taken, given in zip(below, widths, strict=True))
        rising = list(zip(reversed(widths[1:]), reversed(widths[:-1]), strict=True))
        self.up = nn.ModuleList(_Pair(deep + flat, flat) for deep, flat in rising)
        self.last = nn.Conv2d(widths[0], outputs, 1)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        kept: list[torch.Tensor] = []
        for level, pair in enumerate(self.down):
            planes = pair(functional.max_pool2d(planes, 2) if level else planes)
            kept.append(planes)
        kept.pop()
        for pair in self.up:
            planes = functional.interpolate(planes, scale_factor=2.0, mode="nearest")
            planes = pair(torch.cat([planes, kept.pop()], dim=1))
        return self.last(planes)


class _Pair(nn.Sequential):
    """Two convolutions of 3 × 3, each with its normalisation."""

    def __init__(self, taken: int, given: int) -> None:
        super().__init__(
            nn.Conv2d(taken, given, 3, padding=1, bias=False),
            nn.BatchNorm2d(given),
            nn.ReLU(inplace=True),
            nn.Conv2d(given, given, 3, padding=1, bias=False),
            nn.BatchNorm2d(given),
            nn.ReLU(inplace=True),
        )
