"""`stain_normalisation` of a card.json: the method and its reference, as numbers."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from wsi.records.stain_normalisation import PUBLISHED, StainNormalisation, read_stain_normalisation

Density = Annotated[float, Field(ge=-10, le=10, allow_inf_nan=False)]
Vector = tuple[Density, Density, Density]
Most = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
Opponent = Annotated[float, Field(ge=-128, le=127, allow_inf_nan=False)]
Deviation = Annotated[float, Field(gt=0, le=128, allow_inf_nan=False)]

#: What other tools call the fields: torchstain, TIAToolbox, StainTools.
ELSEWHERE: Final = {
    "alpha_percentile": "alpha",
    "heref": "stain_vectors",
    "maxc_target": "max_concentrations",
    "maxcref": "max_concentrations",
    "name": "method",
    "stain_matrix": "stain_vectors",
    "stain_matrix_target": "stain_vectors",
    "target_means": "means",
    "target_mus": "means",
    "target_std": "stds",
    "target_stds": "stds",
    "transmitted_intensity": "io",
    "type": "method",
}


class _StainReference(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    def normalisation(self) -> StainNormalisation:
        found = read_stain_normalisation(self.model_dump())
        assert found is not None
        return found


class MacenkoReference(_StainReference):
    """Macenko et al., as their published code and torchstain have it."""

    method: Literal["macenko"]
    stain_vectors: tuple[Vector, Vector] = Field(
        description="Haematoxylin, then eosin: optical densities of red, green and blue, of length 1. torchstain's "
        "`HERef` transposed; TIAToolbox's `stain_matrix_target`."
    )
    max_concentrations: tuple[Most, Most] = Field(
        description="Of the two in the reference, at the 99th percentile: torchstain's `maxCRef`."
    )
    io: Annotated[float, Field(ge=100, le=256, allow_inf_nan=False)] = Field(
        default=PUBLISHED.io, description="Grey value of light that passed nothing."
    )
    alpha: Annotated[float, Field(ge=0, lt=50, allow_inf_nan=False)] = Field(
        default=PUBLISHED.alpha, description="Percentile of angles, from both ends, that stains are found at."
    )
    beta: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = Field(
        default=PUBLISHED.beta, description="Optical density below which, in any channel, a pixel is no tissue."
    )


class ReinhardReference(_StainReference):
    """Reinhard et al. in OpenCV's CIELAB of 8 bits, as TIAToolbox and StainTools have it."""

    method: Literal["reinhard"]
    means: tuple[Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)], Opponent, Opponent] = Field(
        description="Of L in 0..100, a and b in -128..127: TIAToolbox's `target_means`."
    )
    stds: tuple[Deviation, Deviation, Deviation] = Field(description="In the same units: `target_stds`.")


Reference = Annotated[MacenkoReference | ReinhardReference, Field(discriminator="method")]

_METHODS: Final[dict[str, type[BaseModel]]] = {"macenko": MacenkoReference, "reinhard": ReinhardReference}
_MACENKO: Final = (
    '{"method": "macenko", "stain_vectors": [[0.5626, 0.7201, 0.4062], [0.2159, 0.8012, 0.5581]], '
    '"max_concentrations": [1.9705, 1.0308]}'
)
_EXAMPLES: Final = {
    "stain_vectors": "two vectors of three optical densities, as [[0.5626, 0.7201, 0.4062], [0.2159, 0.8012, 0.5581]]",
    "max_concentrations": "two numbers above 0, of haematoxylin and of eosin, as [1.9705, 1.0308]",
    "means": "three numbers, of L in 0..100 and of a and b in -128..127, as [71.5, 18.2, -9.1]",
    "stds": "three numbers above 0, of L, a and b, as [14.1, 7.3, 5.9]",
}


def list_reference_fields(method: str) -> list[str]:
    """Return the fields of the method's reference; none for an unknown method."""
    return list(_METHODS[method].model_fields) if method in _METHODS else []


def describe_reference_fault(place: list[str], given: Any, what: str) -> str | None:
    """Return this module's message about the part at `place` of a card; None where the usual message suffices. `place`
    is without the method's name; `what` is pydantic's name of the fault."""
    if len(place) == 1:
        if what == "union_tag_not_found":
            return f"stain_normalisation must state its method, macenko or reinhard, and the reference, as {_MACENKO}"
        if what == "union_tag_invalid":
            return _describe_method_fault(given.get("method"))
        return f"stain_normalisation must be an object, as {_MACENKO}"
    field = place[1]
    if field not in _EXAMPLES or what == "extra_forbidden":
        return None
    where = f"stain_normalisation.{field}"
    if what == "missing" and len(place) == 2:
        return f"{where} is missing: the reference that tiles are brought to must be stated, as {_EXAMPLES[field]}"
    if field == "stain_vectors" and len(place) == 2 and what == "too_long":
        return f"{where} has a column a stain, as torchstain's HERef: transpose it to {_EXAMPLES[field]}"
    return f"{where} must be {_EXAMPLES[field]}"


def _describe_method_fault(given: Any) -> str:
    meant = get_close_matches(str(given).lower(), _METHODS, 1)
    return f"stain_normalisation.method must be macenko or reinhard, not {json.dumps(given)}" + (
        f"; perhaps {meant[0]} is meant" if meant else ""
    )
