"""Tile quality, measured by torch on the device that holds the pixels. It computes in whole numbers, so that every
device gives the bytes of `wsi.results.tile_quality.measure`."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch

from wsi.results.tile_quality import WHITE, make_lattice, make_tables


class QualitySums:
    """The sums [n, 5] int64, `wsi.results.tile_quality.SUMS`, of tiles [n, height, width, 3] uint8, both on the device.
    It never waits, so that a CUDA graph can hold it."""

    def __init__(self, height: int, width: int, device: torch.device) -> None:
        self._places = torch.from_numpy(make_lattice(height, width).places).to(device).ravel()
        self._rules = _rules(device)

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        count = len(pixels)
        seen = pixels.reshape(count, -1).index_select(1, self._places).view(count, 7, -1).int()
        red, green, blue = seen[:, :3].unbind(1)
        darkest, brightest = torch.aminmax(seen[:, :3], dim=1)
        bend = torch.sub(seen[:, 3:].sum(1, dtype=torch.int32), green, alpha=4)
        ink = _look_up(self._rules.ink, red, green) >= _look_up(self._rules.enough, green, blue)
        saturation = _look_up(self._rules.saturation, brightest, darkest)
        each = (bend, bend * bend, (darkest >= WHITE).int(), ink.int(), saturation)
        # In int32, as a bend squared is at most 1020 squared; sums of many are not.
        return torch.stack(each, dim=1).sum(2, dtype=torch.int64)


class _Rules(NamedTuple):
    """`wsi.results.tile_quality.Tables` on a device, in int32."""

    saturation: torch.Tensor
    ink: torch.Tensor
    enough: torch.Tensor


@cache
def _rules(device: torch.device) -> _Rules:
    return _Rules(*(torch.from_numpy(table).to(device, torch.int32) for table in make_tables()))


def _look_up(table: torch.Tensor, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    at = torch.add(second, first, alpha=256)
    return table.index_select(0, at.ravel()).view_as(at)
