"""Batches of turned, scaled and recoloured pieces of the annotated picture, made on the GPU."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch.nn import functional

from models.nuclei.pictures import Annotated, measure_depth

SIDE = 256  #: px of a piece
SCALES = (0.65, 2.0)  #: of a piece's pixels to the picture's
#: Optical densities of haematoxylin, eosin and what is left (Ruifrok & Johnston 2001), of length 1.
STAINS = ((0.650, 0.704, 0.286), (0.072, 0.990, 0.105), (0.268, 0.570, 0.776))


@dataclass(frozen=True, eq=False)
class Pieces:
    """Draws pieces of the part of the picture that is learned from, none of which holds a pixel that is held out."""

    planes: torch.Tensor  #: [5, height, width]: red, green, blue in 0..1, nucleus 0 or 1, depth
    places: NDArray[np.int64]  #: all pixels, by falling room
    room: NDArray[np.float64]  #: of each place: how far it lies from what must not be seen, px
    draws: torch.Generator
    chance: np.random.Generator

    @classmethod
    def of(cls, annotated: Annotated, learned: NDArray[np.bool_], seed: int, device: torch.device) -> Pieces:
        colours = np.moveaxis(annotated.pixels.astype(np.float32) / 255, 2, 0)
        marks = np.stack([(annotated.nuclei > 0).astype(np.float32), measure_depth(annotated.nuclei)])
        room = ndimage.distance_transform_edt(np.pad(learned, 1))[1:-1, 1:-1].ravel()
        places = np.argsort(-room, kind="stable")
        return cls(
            planes=torch.from_numpy(np.concatenate([colours, marks])).to(device),
            places=places,
            room=room[places],
            draws=torch.Generator(device).manual_seed(seed),
            chance=np.random.default_rng(seed),
        )

    @property
    def shape(self) -> tuple[int, int]:
        return self.planes.shape[1], self.planes.shape[2]

    def draw(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return colours [number, 3, SIDE, SIDE] in 0..1, and marks [number, 2, SIDE, SIDE]: nucleus and depth."""
        taken = functional.grid_sample(
            self.planes.expand(number, -1, -1, -1),
            self.make_grids(number),
            mode="bilinear",
            padding_mode="reflection",
            align_corners=False,
        )
        marks = torch.cat([(taken[:, 3:4] >= 0.5).float(), taken[:, 4:5]], dim=1)
        return self._recolour(taken[:, :3]), marks

    def make_grids(self, number: int) -> torch.Tensor:
        """Return where the pixels of new pieces lie, [number, SIDE, SIDE, 2]: x and y as `grid_sample` takes them."""
        height, width = self.shape
        scales = np.exp(self.chance.uniform(*np.log(SCALES), number))
        angles, mirrors = self.chance.uniform(0, 2 * math.pi, number), self.chance.choice((-1.0, 1.0), number)
        # Places lie in the order of their room: the first ones are far enough from what is held out.
        fitting = np.searchsorted(-self.room, -scales * SIDE / math.sqrt(2), side="right")
        places = self.places[(self.chance.random(number) * fitting).astype(np.int64)]
        drawn = np.stack([scales * np.cos(angles), scales * np.sin(angles), mirrors, places % width, places // width])
        cos, sin, mirror, column, row = torch.from_numpy(drawn.astype(np.float32)).to(self.planes.device)[
            ..., None, None
        ]
        steps = torch.arange(SIDE, device=self.planes.device) - (SIDE - 1) / 2
        y, x = torch.meshgrid(steps, steps, indexing="ij")
        right = column + mirror * (cos * x - sin * y)
        down = row + sin * x + cos * y
        return torch.stack([(2 * right + 1) / width - 1, (2 * down + 1) / height - 1], dim=-1)

    def _recolour(self, colours: torch.Tensor) -> torch.Tensor:
        """Change the amounts of the stains, light and focus, and add noise: scanners and laboratories differ so."""
        number, device = len(colours), colours.device
        stains = torch.tensor(STAINS, device=device)
        stains = stains / stains.norm(dim=1, keepdim=True)
        density = -torch.log(colours.clamp(1 / 255))
        amounts = torch.einsum("nchw,cs->nshw", density, torch.linalg.inv(stains))
        amounts = amounts * self._between(0.6, 1.5, (number, 3, 1, 1)) + self._between(-0.08, 0.08, (number, 3, 1, 1))
        colours = torch.exp(-torch.einsum("nshw,sc->nchw", amounts, stains))
        colours = colours * self._between(0.85, 1.1, (number, 3, 1, 1))
        colours = colours.clamp(1e-3, 1) ** self._between(0.75, 1.3, (number, 1, 1, 1))
        kept, blurred = self._between(0, 1, (number, 1, 1, 1)), functional.avg_pool2d(colours, 5, 1, 2)
        colours = torch.where(
            self._between(0, 1, (number, 1, 1, 1)) < 0.5, colours, kept * colours + (1 - kept) * blurred
        )
        noise = torch.randn(colours.shape, device=device, generator=self.draws)
        return (colours + noise * self._between(0, 0.04, (number, 1, 1, 1))).clamp(0, 1)

    def _between(self, low: float, high: float, shape: tuple[int, ...]) -> torch.Tensor:
        return low + (high - low) * torch.rand(shape, device=self.planes.device, generator=self.draws)
