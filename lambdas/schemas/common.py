"""Schemas that the nouns share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError


class Body(BaseModel):
    """A request."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Answer(BaseModel):
    """A response."""

    model_config = ConfigDict(frozen=True)


def _without_nul(value: str | None) -> str | None:
    if value and "\0" in value:
        raise PydanticCustomError("our_nul", "must not hold the character NUL")
    return value


STORABLE = AfterValidator(_without_nul)  #: last in a text's Annotated: SQL takes no NUL
EMAIL_PATTERN = r"^[^@\s]+@[^@\s]+\.[^@\s]+$"
Email = Annotated[str, Field(max_length=254, pattern=EMAIL_PATTERN), STORABLE]
Mpp = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False, description="Microns a pixel at level 0.")]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="Hex SHA-256.")]


class Problem(Answer):
    """RFC 9457. `type` is stable; `detail` is one sentence for people."""

    type: str = Field(examples=["/problems/not_found"])
    title: str
    status: int
    detail: str
    traceparent: str = Field(description="W3C trace context; quote it when asking for help.")
    reason: str | None = Field(default=None, description="Why a slide cannot be analysed.")
    errors: list[dict[str, Any]] | None = Field(default=None, description="Which fields are wrong, one entry each.")


class AnswerFormat(StrEnum):
    """The form of an answer: an object, or a table for spreadsheets."""

    JSON = "json"
    CSV = "csv"
