"""Measures how a network's maps depend on what lies around a pixel, by changing its input.

Objects are the same whatever the tiles if two facts hold. Shifted by the network's stride, a tile gives shifted maps;
and from a tile's border on, only a margin of the maps depends on what lies outside. Both are found here from outside,
of any network: the input is shifted, and changed beyond a line.

Some layers look at the whole tile: instance and group normalisation, attention, squeeze and excitation. Then there is
no margin, since every pixel depends on the tile's border, and objects depend on where tiles begin.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from inference.models.checks.network_check import make_tiles
from wsi.errors import ModelFailed
from wsi.records.model_card import Activation, ModelCard

Tiles = NDArray[np.uint8]
Planes = NDArray[np.float32]

#: Of the largest output. Sums in another order differ by less; a pixel within the receptive field by more, since a
#: whole side of the tile is changed.
_ROUNDING: Final = {"fp32": 2e-6, "fp16": 5e-3, "bf16": 4e-2}
#: The same where tiles begin elsewhere: kernels then sum in yet another order.
_SHIFTED: Final = {"fp32": 1e-4, "fp16": 2e-2, "bf16": 1e-1}
#: px: powers of two first, which nearly all networks have.
_STRIDES: Final = (*(2**power for power in range(8)), *(number for number in range(3, 65) if number & (number - 1)))
#: Of the tile's side: how much of it is changed.
_CHANGED: Final = 4


@runtime_checkable
class InspectableMaps(Protocol):
    """A model whose maps before its card's activation can be inspected."""

    @property
    def card(self) -> ModelCard: ...

    @property
    def last_step(self) -> Activation | None: ...

    def compute_map_output(self, pixels: Tiles) -> Planes:
        """Return the output before the activation, [n, maps, input_px, input_px], of tiles [n, height, width, 3].
        Raises ModelFailed, UnsuitableDevice, DeviceLost."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ReceptiveField:
    stride: int | None  #: px of the input; None if no shift of up to 128 px gives shifted maps
    margin: int | None  #: px from a tile's border that depend on what lies outside; None if all do

    def check(self, card: ModelCard) -> tuple[str, ...]:
        """Return doubts of the card, a sentence each. Raises ModelFailed if its margin or stride are too small."""
        objects = card.objects
        assert objects is not None
        if self.margin is None:
            return (
                "Every pixel of the maps depends on the whole tile, as with an instance normalisation or attention: "
                f"objects depend on where tiles begin. Keep tile_px at {card.tile_px}, and compare no results of tiles "
                "of another side.",
            )
        if self.margin > objects.margin:
            raise ModelFailed(
                f"The card's margin_px is {objects.margin}, and {self.margin} px from a tile's border the maps still "
                f'depend on what lies outside: write "margin_px": {self.margin}.'
            )
        if self.stride is None:
            return (
                "No shift of a tile gives shifted maps: objects depend on where tiles begin, and their seams show.",
            )
        if objects.stride % self.stride:
            raise ModelFailed(
                f"The card's stride_px is {objects.stride}, and shifted by so many px a tile does not give shifted "
                f'maps: write "stride_px": {self.stride}.'
            )
        return ()


def measure_receptive_field(model: InspectableMaps) -> ReceptiveField:
    """Measure the model on synthetic tiles, ten for most networks. Raises ModelFailed, UnsuitableDevice, DeviceLost."""
    margin = measure_margin(model)
    return ReceptiveField(stride=measure_stride(model, margin or 0), margin=margin)


def measure_margin(model: InspectableMaps) -> int | None:
    """Return the distance in px, from a line beyond which everything was changed, to the farthest change of the output;
    None if it reaches through the tile."""
    side, objects = model.card.input_px, model.card.objects
    assert objects is not None
    # On the lattice of windows, since pooling makes the distance depend on the place.
    band = max(side // _CHANGED // objects.stride, 1) * objects.stride
    tissue, noise, _ = make_tiles(side)
    plain = model.compute_map_output(tissue[None])
    allowed, farthest = _ROUNDING[model.card.precision] * np.abs(plain).max(), 0
    ends = (slice(0, band), slice(side - side % objects.stride - band, side))
    for axis, end in itertools.product((0, 1), ends):
        place = (slice(None), end) if axis else (end,)
        changed = tissue.copy()
        changed[place] = noise[place]
        apart = np.abs(model.compute_map_output(changed[None]) - plain).max(axis=(0, 1, 2 + (1 - axis)))
        moved = np.flatnonzero(apart > allowed)
        if not len(moved):
            continue
        farthest = max(farthest, end.start - int(moved[0]), int(moved[-1]) + 1 - end.stop)
        if moved[0] == 0 and moved[-1] == side - 1:  # even a tile as large as this does not hold it
            return None
    return farthest


def measure_stride(model: InspectableMaps, margin: int) -> int | None:
    """Return the smallest shift in px, a power of two if one is, that shifts the output by as much and changes nothing
    else, away from the margin; None if there is none."""
    card = model.card
    side = card.input_px
    reached = min(max(_STRIDES), (side - 2 * margin) // 2)
    tissue, *_ = make_tiles(side + reached)
    whole = model.compute_map_output(tissue[None, :side, :side].copy())
    allowed = _SHIFTED[card.precision] * np.abs(whole).max()
    for shift in _STRIDES:
        if shift > reached:
            continue
        moved = model.compute_map_output(tissue[None, shift : shift + side, shift : shift + side].copy())
        inner, other = slice(margin + shift, side - margin), slice(margin, side - margin - shift)
        if np.abs(whole[..., inner, inner] - moved[..., other, other]).max() <= allowed:
            return shift
    return None
