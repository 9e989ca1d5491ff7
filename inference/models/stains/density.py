"""Colour deconvolution after Ruifrok and Johnston, Anal Quant Cytol Histol 23:291-299, 2001, in numpy.

Light that passes a stained section falls off exponentially, so optical densities -log10(I / 255) of stains add up.
A pixel's three densities (R, G, B) are a mix of three stain vectors; the inverse of their matrix gives the amount of
each stain. Unmixing is pixel-wise and not linear in RGB, so it runs on the pixels of the level as decoded: resampling
first would blend glass into nuclei.

Amounts are whole numbers of 2^-23, looked up and added: exact in any order, so that every machine, batch and thread
count gives the same bytes. A mean differs from the published formula by at most 1.5 x 2^-23, and float32's own rounding
(docs/decisions/0068).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wsi.errors import ModelError
from wsi.planning.plan import Numerics
from wsi.records.model_card import ModelCard

#: Absorption of R, G, B by haematoxylin, eosin and DAB, as published (and as ImageJ and scikit-image use them).
STAINS: Final = np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11], [0.27, 0.57, 0.78]])
#: Haematoxylin density above which a pixel counts as nucleus. Cytoplasm stays below 0.1, pale nuclei begin at 0.2;
#: QuPath's cell detection takes 0.1 above the local background.
NUCLEAR_OD: Final = 0.15
COLUMNS: Final = ("haematoxylin_od", "eosin_od", "dab_od", "nuclear_fraction")

UNIT: Final = 1 << 23  #: parts of a density of 1
#: Pixels unmixed together: they fit into a core's caches, and a call of numpy costs little in comparison.
CHUNK: Final = 16_384
#: Rows added up in int32: an amount is at most 4.52, and 32 of them stay below 2^31.
ADDED: Final = 32

#: A pixel's red and green as one number, red + 256 x green, which takes one look-up in place of two.
_COLOUR: Final = np.dtype([("red_green", "<u2"), ("blue", "u1")])
#: Four int32 as one item: numpy takes such three times as fast as it takes rows of four.
_ROW: Final = np.dtype("V16")


def measure_densities(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the mean densities of haematoxylin, eosin and DAB, and the nuclear fraction 0..1, [4] float32, of
    [height, width, 3] RGB."""
    return _measure_densities(pixels, _scratch())


class StainDensity:
    """Mean density of each stain and share of nuclear area, over the whole box (past the slide's edge it is white)."""

    def __init__(self, card: ModelCard) -> None:
        if tuple(column.name for column in card.columns) != COLUMNS:
            raise ModelError(f"The card of {card.name} names other columns than {', '.join(COLUMNS)}.")
        self._card = card

    @property
    def card(self) -> ModelCard:
        return self._card

    def infer(self, pixels: NDArray[np.uint8], numerics: Numerics) -> NDArray[np.float32]:
        """Return a row for each tile, [batch, 4]. It depends on the tile's own pixels only, to the last bit."""
        scratch = _scratch()
        return np.stack([_measure_densities(tile, scratch) for tile in pixels])


class _Scratch(NamedTuple):
    """Scratch memory for a chunk; made once a batch."""

    at: NDArray[np.intp]  #: places in a table
    rows: NDArray[np.void]
    of_blue: NDArray[np.void]


def _scratch() -> _Scratch:
    return _Scratch(np.empty(CHUNK, np.intp), np.empty(CHUNK, _ROW), np.empty(CHUNK, _ROW))


def _measure_densities(pixels: NDArray[np.uint8], scratch: _Scratch) -> NDArray[np.float32]:
    colours = np.ascontiguousarray(pixels).reshape(-1).view(_COLOUR)
    sums, nuclear = np.zeros(4 * CHUNK // ADDED, np.int64), 0
    for start in range(0, len(colours), CHUNK):
        amounts = _unmix(colours[start : start + CHUNK], scratch)
        nuclear += int(np.count_nonzero(amounts[3::4]))
        sums += np.add.reduce(amounts.reshape(ADDED, -1), axis=0, dtype=np.int32)
    means = sums.reshape(-1, 4).sum(axis=0)[:3] / (len(colours) * UNIT)
    return np.array([*means, nuclear / len(colours)], np.float32)


def _unmix(colours: NDArray[np.void], scratch: _Scratch) -> NDArray[np.int32]:
    """Return the amounts in at most CHUNK colours, [4 x CHUNK] in the scratch memory: haematoxylin, eosin, DAB, and the
    haematoxylin above NUCLEAR_OD, of each colour in UNIT; then zeros."""
    count = len(colours)
    at, rows, of_blue = scratch.at[:count], scratch.rows[:count], scratch.of_blue[:count]
    np.copyto(at, colours["red_green"])
    _OF_RED_GREEN.take(at, mode="wrap", out=rows)  # every place is in the table; with "wrap" numpy needs no copy
    np.copyto(at, colours["blue"])
    _OF_BLUE.take(at, mode="wrap", out=of_blue)
    amounts = rows.view(np.int32)
    np.add(amounts, of_blue.view(np.int32), out=amounts)
    # A colour that no mix of the stains can make has a negative amount. An array of zeros is faster here than one zero.
    np.maximum(amounts, _ZEROS[: len(amounts)], out=amounts)
    whole = scratch.rows.view(np.int32)
    whole[len(amounts) :] = 0
    return whole


def _amounts() -> NDArray[np.int32]:
    """Return what each channel adds to a row of amounts, [3 of RGB, 256 values, 4]. Blue carries the threshold of
    nuclei."""
    # 0 counts as 1, the least light that 8 bits can tell from none (density 2.41).
    density = -np.log10(np.maximum(np.arange(256), 1) / 255)
    unmix = np.linalg.inv(STAINS / np.linalg.norm(STAINS, axis=1, keepdims=True))
    stains = np.rint(UNIT * density[:, None] * unmix[:, None, :])
    rows = np.concatenate([stains, stains[..., :1]], axis=2).astype(np.int32)
    rows[2, :, 3] -= int(NUCLEAR_OD * UNIT)
    return rows


def _rows(amounts: NDArray[np.int32]) -> NDArray[np.void]:
    """Return amounts [..., 4] as [n] of _ROW."""
    return np.ascontiguousarray(amounts).reshape(-1).view(_ROW)


_RED, _GREEN, _BLUE = _amounts()
_OF_RED_GREEN: Final = _rows(_GREEN[:, None] + _RED)
_OF_BLUE: Final = _rows(_BLUE)
_ZEROS: Final = np.zeros(4 * CHUNK, np.int32)
