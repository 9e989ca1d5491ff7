"""Stain normalisation as a card states it: the method, and the reference that each tile is brought to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from wsi.records.fields import select_known_fields

Triple = tuple[float, float, float]  #: of red, green, blue, or of L, a, b


@dataclass(frozen=True, kw_only=True, slots=True)
class Macenko:
    """The two stains that replace a tile's own: Macenko et al., "A method for normalizing histology slides for
    quantitative analysis", ISBI 2009, doi:10.1109/ISBI.2009.5193250. Defaults are those of the published code
    (mitkovetta/staining-normalization), which torchstain has too."""

    method: Literal["macenko"] = "macenko"
    stain_vectors: tuple[Triple, Triple]  #: of haematoxylin and eosin: optical densities of R, G, B, of length 1
    max_concentrations: tuple[float, float]  #: of the two stains in the reference, at their 99th percentile
    io: float = 240.0  #: grey value of light that passed nothing
    alpha: float = 1.0  #: percentile of the angles that are taken for the stains, and 100 - alpha
    beta: float = 0.15  #: optical density below which, in any channel, a pixel is no tissue


@dataclass(frozen=True, kw_only=True, slots=True)
class Reinhard:
    """The means and deviations that replace those of a tile's colours: Reinhard et al., "Color transfer between
    images", IEEE CG&A 21(5), 2001, doi:10.1109/38.946629. In OpenCV's CIELAB of 8 bits, as in TIAToolbox and
    StainTools."""

    method: Literal["reinhard"] = "reinhard"
    means: Triple  #: of L in 0..100, a and b in -128..127
    stds: Triple  #: in the units of the means


StainNormalisation = Macenko | Reinhard

#: The reference of the published code, which torchstain has unless it is fitted to an image.
PUBLISHED: Final = Macenko(
    stain_vectors=((0.5626, 0.7201, 0.4062), (0.2159, 0.8012, 0.5581)), max_concentrations=(1.9705, 1.0308)
)


def read_stain_normalisation(value: Mapping[str, Any] | None) -> StainNormalisation | None:
    """Read what `dataclasses.asdict` made of a stain normalisation, with lists in place of tuples too. Return None for
    None. Raises ValueError for a method that this version does not know."""
    if value is None:
        return None
    known = {name: _tuples(part) for name, part in value.items()}
    if value["method"] == "macenko":
        return Macenko(**select_known_fields(Macenko, known))
    if value["method"] == "reinhard":
        return Reinhard(**select_known_fields(Reinhard, known))
    raise ValueError(f"there is no stain normalisation {value['method']!r}")


def _tuples(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    return tuple(_tuples(part) for part in cast("Iterable[Any]", value))
