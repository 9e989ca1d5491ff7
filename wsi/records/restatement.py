"""Values that a user states anew for a slide that is stored already."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any, Final, TypeVar

from wsi.records.slides import Choice, Slide

_Value = TypeVar("_Value")


class Unstated(Enum):
    """The mark of a field that a restatement leaves as it is. None is different: it withdraws what was stated."""

    UNSTATED = "unstated"


UNSTATED: Final = Unstated.UNSTATED


@dataclass(frozen=True, kw_only=True, slots=True)
class Restatement:
    name: str | Unstated = UNSTATED  #: display name. PHI: never logged
    mpp: float | Unstated | None = UNSTATED  #: microns a pixel at level 0; wins over the file
    optical_path: str | Unstated | None = UNSTATED
    focal_plane: int | Unstated | None = UNSTATED
    picture: int | Unstated | None = UNSTATED

    @property
    def is_empty(self) -> bool:
        return all(getattr(self, field.name) is UNSTATED for field in fields(self))

    @property
    def is_about_pixels(self) -> bool:
        """True if it states anything that inspection depends on: all but the name."""
        return bool(self.make_audit_detail().keys() - {"name"})

    def apply_to(self, slide: Slide) -> Slide:
        """Return the slide with what is stated from now on. Fields of the choice change one by one."""
        choice = slide.choice or Choice()
        return replace(
            slide,
            name=_or(self.name, slide.name),
            mpp=_or(self.mpp, slide.mpp),
            choice=Choice.of(
                _or(self.optical_path, choice.optical_path),
                _or(self.focal_plane, choice.focal_plane),
                _or(self.picture, choice.picture),
            ),
        )

    def make_audit_detail(self) -> dict[str, Any]:
        """Return the stated fields. A text is only marked as stated: it can identify a patient, and the audit log
        outlives the slide."""
        stated = {field.name: getattr(self, field.name) for field in fields(self)}
        said = {name: value for name, value in stated.items() if value is not UNSTATED}
        return {name: True if isinstance(value, str) else value for name, value in said.items()}


def _or(stated: _Value | Unstated, before: _Value) -> _Value:
    return before if isinstance(stated, Unstated) else stated
