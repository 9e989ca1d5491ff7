"""The stains of one slide: which colours its haematoxylin and eosin have, and how dense they get.

Networks that were trained on amounts of stain in place of RGB need both, and both belong to the slide: estimated tile
by tile, a tile of glass would be stretched until its dust looks like tissue. So the planner estimates them once, from
the overview, and the plan carries them.

Colours: M. Macenko et al., ISBI 2009. Densities of tissue lie between two vectors in the plane of their two largest
principal components; the percentiles 1 and 99 of the angle in that plane are the stains. As in HistomicsTK the axes
go through the origin, pixels with little stain are left out, and a third vector stands upright on both.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wsi.records.fields import select_known_fields
from wsi.slide.slide import RGB

Triple = tuple[float, float, float]

#: Absorption of R, G, B that tells which of the two vectors is which (Ruifrok and Johnston 2001).
HAEMATOXYLIN, EOSIN = (0.65, 0.70, 0.29), (0.07, 0.99, 0.11)
#: Grey values that glass may have.
LEAST_GLASS, MOST_GLASS = 200.0, 255.0
#: Taken for glass where there is not enough to measure.
USUAL_GLASS = 240.0
ENOUGH_GLASS = 100  #: px
#: What a grey value of 0 counts as where colours are estimated, after HistomicsTK: black pixels pull the plane.
NO_LIGHT = 1e-10
#: Length in the plane, on a scale on which a grey value of 1 has 255: less is glass and its noise.
LEAST_STAIN = 16.0
LOW, HIGH = 0.01, 0.99  #: of angles and of amounts
#: Decimals that are kept: far below any effect, and above the last bits, in which two machines may differ.
_DECIMALS = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Stains:
    """The stains of a slide. The density of a channel is -log10(grey / glass); an amount is (row @ densities of R, G,
    B)."""

    glass: float  #: grey value, of all channels
    eosin: Triple  #: row: densities to amount
    haematoxylin: Triple
    eosin_range: tuple[float, float]  #: amounts that count as 0 and as 1
    haematoxylin_range: tuple[float, float]
    density_range: tuple[float, float]  #: of the mean density of R, G, B

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Stains:
        known = select_known_fields(Stains, value)
        return Stains(glass=known.pop("glass"), **{name: tuple(numbers) for name, numbers in known.items()})


def estimate_stains(pixels: RGB, tissue: NDArray[np.bool_]) -> Stains:
    """Estimate the stains of an overview [height, width, 3]; `tissue` marks its tissue.

    Amounts are taken over all of the overview, glass too, as lavlab-shell does, whose network wants them so: where
    tissue is less than a hundredth of the slide, all of it counts as fully stained.
    """
    glass = _glass(pixels, tissue)
    vectors = _vectors(_densities(glass, least=NO_LIGHT)[pixels[tissue]], np.log10(glass))
    densities = _densities(glass)[pixels]
    by_stain = np.linalg.pinv(vectors)
    haematoxylin, eosin = (_nearest(vectors, reference) for reference in (HAEMATOXYLIN, EOSIN))
    if haematoxylin == eosin:  # one stain alone: the two vectors as they come
        haematoxylin, eosin = 0, 1
    return Stains(
        glass=round(glass, _DECIMALS),
        eosin=_triple(by_stain[eosin]),
        haematoxylin=_triple(by_stain[haematoxylin]),
        eosin_range=_range(densities @ by_stain[eosin]),
        haematoxylin_range=_range(densities @ by_stain[haematoxylin]),
        density_range=_range(densities.mean(axis=-1)),
    )


def compute_stain_planes(pixels: NDArray[np.uint8], stains: Stains) -> NDArray[np.float32]:
    """Convert RGB [batch, height, width, 3] to eosin, haematoxylin and density [batch, 3, height, width], 0..1 in steps
    of 1/255, as the network that takes them was trained. Pixel by pixel and without BLAS."""
    table = _densities(stains.glass).astype(np.float32)
    red, green, blue = (table[pixels[..., channel]] for channel in range(3))
    planes = np.empty((len(pixels), 3, *pixels.shape[1:3]), np.float32)
    rows = (stains.eosin, stains.haematoxylin, (1 / 3, 1 / 3, 1 / 3))
    ranges = (stains.eosin_range, stains.haematoxylin_range, stains.density_range)
    for plane, (row, (low, high)) in enumerate(zip(rows, ranges, strict=True)):
        amount = planes[:, plane]
        np.multiply(red, np.float32(row[0]), out=amount)
        amount += green * np.float32(row[1])
        amount += blue * np.float32(row[2])
        amount -= np.float32(low)
        amount *= np.float32(255 / (high - low))
        np.floor(np.clip(amount, 0, 255, out=amount), out=amount)
    planes *= np.float32(1 / 255)
    return planes


def _glass(pixels: RGB, tissue: NDArray[np.bool_]) -> float:
    """Return the mean grey value outside tissue. Pure white is left out if enough else is seen: it fills what was never
    scanned."""
    around = pixels[~tissue]
    seen = around[(around != 255).any(axis=-1)]
    for glass in (seen, around):
        if len(glass) >= ENOUGH_GLASS:
            return float(np.clip(glass.mean(dtype=np.float64), LEAST_GLASS, MOST_GLASS))
    return USUAL_GLASS


def _densities(glass: float, least: float = 1.0) -> NDArray[np.float64]:
    """Return the density of each grey value, [256]; 0 counts as `least`, and nothing is brighter than glass."""
    return -np.log10(np.clip(np.arange(256), least, glass) / glass)


def _vectors(densities: NDArray[np.float64], darkest: float) -> NDArray[np.float64]:
    """Return the vectors of unit length, [3, 3], a stain a column, of tissue's densities [n, 3]; black has the density
    `darkest`."""
    scaled = densities * (255 / darkest)
    _, axes = np.linalg.eigh(scaled.T @ scaled)  # of rising size
    plane = axes[:, :0:-1]
    flat = scaled @ plane
    length = np.linalg.norm(flat, axis=1)
    stained = length > LEAST_STAIN
    flat = flat[stained] / length[stained, None]
    if not len(flat):
        return _complete_vectors(np.array([HAEMATOXYLIN, EOSIN]).T)
    angles = (1 - flat[:, 1]) * np.sign(flat[:, 0])
    ends = [flat[np.argpartition(angles, at)[at]] for at in (int(share * len(flat) + 0.5) for share in (LOW, HIGH))]
    return _complete_vectors(plane @ np.array(ends).T)


def _complete_vectors(two: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two vectors, [3, 2], with a third perpendicular to both, all of unit length."""
    vectors = np.column_stack([two, np.cross(two[:, 0], two[:, 1])])
    return vectors / np.maximum(np.linalg.norm(vectors, axis=0), np.finfo(np.float64).tiny)


def _nearest(vectors: NDArray[np.float64], reference: Triple) -> int:
    """Return the number, 0 or 1, of the stain that is nearest to `reference`."""
    return int(np.argmax(np.abs(np.asarray(reference) @ vectors[:, :2])))


def _triple(row: NDArray[np.float64]) -> Triple:
    red, green, blue = (round(float(value), _DECIMALS) for value in row)
    return red, green, blue


def _range(amounts: NDArray[np.float64]) -> tuple[float, float]:
    """Return the amounts at `LOW` and `HIGH`; 0 and 1 where all are alike, since they have no range then."""
    low, high = (round(float(value), _DECIMALS) for value in np.percentile(amounts, (100 * LOW, 100 * HIGH)))
    return (low, high) if high - low > 10.0**-_DECIMALS else (0.0, 1.0)
