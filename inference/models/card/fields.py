"""The kinds of values that a card.json holds, and the base class of its parts."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from inference.models.wsinfer import COARSEST, FINEST, LARGEST, MAX_SIDE
from wsi.texts import holds_control


class CardPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def check_printable(text: str) -> str:
    if holds_control(text):  # tables and the heatmap's XML cannot hold them
        raise ValueError("must hold no control characters")
    return text


def check_ascending(pair: tuple[float, float]) -> tuple[float, float]:
    if pair[0] >= pair[1]:
        raise ValueError("must be the lower, then the higher value")
    return pair


Text = Annotated[str, Field(min_length=1, max_length=1000)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_printable)]
Side = Annotated[int, Field(ge=1, le=MAX_SIDE)]
Mpp = Annotated[float, Field(ge=FINEST, le=COARSEST, allow_inf_nan=False)]
Channel = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
Spread = Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
#: A probability as it is compared: rounded to whole parts of 255.
Level = Annotated[int, Field(ge=1, le=255)]
