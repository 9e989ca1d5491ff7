"""Stain normalisation of tiles, on any device: each is brought to the card's reference by its own pixels alone.

Tiles are whole grey values before and after, as in the tools that networks were trained with. A tile in which the
method finds nothing to normalise (blank, or of one colour) stays as it is.
"""

from __future__ import annotations

import math
from typing import Final, Protocol

import torch

from inference.models.stains.angles import STEPS, compute_percentile, compute_stain_vectors, project, sort_rows
from inference.models.stains.cielab import SCALES, SHIFTS, Lab
from wsi.records.stain_normalisation import Macenko, Reinhard, StainNormalisation

#: Pixels that a device other than the CPU computes at once: 32 tiles of 256 px, in some 500 MB.
_TOGETHER: Final = 32 * 256 * 256
#: Both methods cut off fractions. A value that is whole except for the last bits of a float keeps that whole value.
_LAST_BITS: Final = 1e-6
_MOST: Final = 99.0  #: percentile that stands for a stain's largest concentration


class _Method(Protocol):
    def __call__(self, greys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return [n, 3, pixels] int64 normalised, as whole numbers in float64, and whether they mean anything, [n]."""
        ...


class StainNormaliser:
    """The normalisation of tiles [n, height, width, 3] of whole grey values, to the same shape in uint8."""

    def __init__(self, stated: StainNormalisation, device: torch.device) -> None:
        self._normalised: _Method = (
            _ByMacenko(stated, device) if isinstance(stated, Macenko) else _ByReinhard(stated, device)
        )

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the tiles normalised, without waiting for the device. A tile's bytes do not depend on other tiles."""
        count, height, width, _ = pixels.shape
        # One by one on a CPU, whose kernels calculate the last values of an array in another way than those before.
        together = 1 if pixels.device.type == "cpu" else max(1, _TOGETHER // (height * width))
        parts = [self._tiles(pixels[low : low + together]) for low in range(0, count, together)]
        return torch.cat(parts)

    def _tiles(self, pixels: torch.Tensor) -> torch.Tensor:
        count, height, width, _ = pixels.shape
        greys = pixels.reshape(count, -1, 3).permute(0, 2, 1).long()
        made, means = self._normalised(greys)
        found = torch.where(means[:, None, None], made, greys.double())
        return found.permute(0, 2, 1).reshape(count, height, width, 3).to(torch.uint8)


class _ByMacenko:
    def __init__(self, stated: Macenko, device: torch.device) -> None:
        self._stated = stated
        densities = [-math.log((grey + 1) / stated.io) for grey in range(256)]
        self._densities = torch.tensor(densities, dtype=torch.float64, device=device)
        self._whole = torch.tensor([round(density * STEPS) for density in densities], device=device)

    def __call__(self, greys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        stated, densities = self._stated, self._densities[greys]
        tissue = (densities >= stated.beta).all(dim=1)
        one, other, two_stains = compute_stain_vectors(densities, self._whole[greys], tissue, stated.alpha)
        concentrations = _unmix(densities, one, other)
        largest = [self._largest(each) for each in concentrations]
        scaled = [
            each * (most / found)
            for each, most, found in zip(concentrations, stated.max_concentrations, largest, strict=True)
        ]
        first, second = stated.stain_vectors
        mixed = torch.stack([scaled[0] * first[c] + scaled[1] * second[c] for c in range(3)], dim=1)
        made = (stated.io * torch.exp(-mixed) + _LAST_BITS).clamp(0, 255).floor()
        return made, two_stains & (largest[0][:, 0] > 0) & (largest[1][:, 0] > 0)

    def _largest(self, concentrations: torch.Tensor) -> torch.Tensor:
        """Return the percentile _MOST, [n, 1], of all pixels of [n, pixels], including those without tissue."""
        count = torch.full_like(concentrations[:, 0], concentrations.shape[1])
        return compute_percentile(sort_rows(concentrations), count, _MOST)


def _unmix(densities: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the concentrations of each stain, [n, pixels], that together come nearest to the densities [n, 3, pixels]
    in least squares."""
    of_one, of_other = (project(densities, vector) for vector in (one, other))
    shared = (one * other).sum(dim=1)[:, None]
    rest = 1 - shared * shared
    return (of_one - shared * of_other) / rest, (of_other - shared * of_one) / rest


class _ByReinhard:
    def __init__(self, stated: Reinhard, device: torch.device) -> None:
        self._stated = stated
        self._lab = Lab(device)

    def __call__(self, greys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        lab = self._lab.from_rgb(greys)
        number = lab.shape[2]
        total, squares = lab.sum(dim=2), (lab * lab).sum(dim=2)  # whole: the same in any order
        mean = total.double() / number
        deviation = (squares.double() / number - mean * mean).clamp(min=0).sqrt()
        parts: list[torch.Tensor] = []
        for channel in range(3):
            scale, shift = SCALES[channel], SHIFTS[channel]
            centred = lab[:, channel] - mean[:, channel, None]
            widened = centred * (self._stated.stds[channel] * scale / deviation[:, channel, None])
            parts.append(widened + (self._stated.means[channel] * scale + shift))
        found = (deviation > 0).all(dim=1)
        moved = torch.where(found[:, None, None], torch.stack(parts, dim=1), 0.0)  # a tile of one colour has no number
        moved = (moved + _LAST_BITS).clamp(0, 255).floor().long()
        return self._lab.to_rgb(moved).double(), found
