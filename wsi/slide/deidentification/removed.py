"""What was removed, as counts: never what it was."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from wsi.records.fields import known_fields


@dataclass(frozen=True, kw_only=True, slots=True)
class Removed:
    images: int = 0  #: label, macro and other pictures beside the slide
    tags: int = 0  #: values taken away, blanked or replaced
    files: int = 0  #: of a series, that hold something else than the slide

    def __add__(self, other: Removed) -> Removed:
        return Removed(images=self.images + other.images, tags=self.tags + other.tags, files=self.files + other.files)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> Removed:
        return Removed(**known_fields(Removed, value))
