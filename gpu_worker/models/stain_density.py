"""Colour deconvolution after Ruifrok and Johnston, Anal Quant Cytol Histol 23:291-299, 2001, in numpy.

Light that passes a stained section falls off exponentially, so optical densities -log10(I / 255) of stains add up.
A pixel's three densities (R, G, B) are a mix of three stain vectors; the inverse of their matrix gives the amount of
each stain. Unmixing is pixel-wise and not linear in RGB, so it runs on the pixels of the level as they lie: to
resample first would blend glass into nuclei.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wsi.errors import ModelError
from wsi.model_card import ModelCard
from wsi.plan import Numerics

#: Absorption of R, G, B by haematoxylin, eosin and DAB, as published (and as ImageJ and scikit-image use them).
STAINS = np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11], [0.27, 0.57, 0.78]])
#: Haematoxylin density above which a pixel counts as nucleus. Cytoplasm stays below 0.1, pale nuclei begin at 0.2;
#: QuPath's cell detection takes 0.1 above the local background.
NUCLEAR_OD = np.float32(0.15)
COLUMNS = ("haematoxylin_od", "eosin_od", "dab_od", "nuclear_fraction")

#: [256] density of each value; 0 counts as 1, the least light that 8 bits can tell from none (density 2.41).
_DENSITY = (-np.log10(np.maximum(np.arange(256), 1) / 255)).astype(np.float32)
#: [3 of RGB, 3 stains]: densities of R, G, B to amounts of stain.
_UNMIX = np.linalg.inv(STAINS / np.linalg.norm(STAINS, axis=1, keepdims=True)).astype(np.float32)


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
        """[batch, height, width, 3] -> [batch, 4]. Tile by tile and without BLAS, so that a row depends on its own
        pixels only, to the last bit, whatever batch and threads are."""
        return np.stack([densities(tile) for tile in pixels])


def densities(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """[height, width, 3] RGB -> [4] float32: mean densities of haematoxylin, eosin, DAB, and nuclear fraction 0..1."""
    red, green, blue = (_DENSITY[pixels[..., channel].ravel()] for channel in range(3))
    values = np.empty(4, np.float32)
    for stain in range(3):
        weights = _UNMIX[:, stain]
        amount = red * weights[0]
        amount += green * weights[1]
        amount += blue * weights[2]
        np.maximum(amount, 0, out=amount)  # a colour that no mix of the stains can make has a negative amount
        values[stain] = amount.mean(dtype=np.float64)
        if stain == 0:
            values[3] = np.count_nonzero(amount > NUCLEAR_OD) / amount.size
    return values
