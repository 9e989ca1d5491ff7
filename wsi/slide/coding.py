"""How the bytes of a tile become pixels: what the container says of them, and the one table of decoders."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal

from wsi.records.fields import known_fields

Reduction = Literal[1, 2, 4, 8]  #: a tile decoded at 1, 1/2, 1/4 or 1/8 of its width and height
REDUCTIONS: Final[tuple[Reduction, ...]] = (1, 2, 4, 8)


class Codec(StrEnum):
    """How one tile is packed. The names are stored in indexes: only add."""

    JPEG = "jpeg"


class Colour(StrEnum):
    """What the samples of a pixel are, as the container says it; a codec's own opinion does not count."""

    RGB = "rgb"
    YCBCR = "ycbcr"


@dataclass(frozen=True, kw_only=True, slots=True)
class Coding:
    """Shared by all tiles of a level."""

    codec: Codec
    colour: Colour
    tables: bytes = b""  #: JPEG segments that each tile needs and does not hold

    def as_json(self) -> dict[str, Any]:
        return {"codec": self.codec, "colour": self.colour, "tables": base64.b64encode(self.tables).decode()}

    @staticmethod
    def from_json(value: dict[str, Any]) -> Coding:
        fields: dict[str, Any] = {
            **known_fields(Coding, value),
            "codec": Codec(value["codec"]),
            "colour": Colour(value["colour"]),
            "tables": base64.b64decode(value["tables"]),
        }
        return Coding(**fields)
