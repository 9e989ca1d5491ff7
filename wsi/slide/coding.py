"""The way from a tile's bytes to pixels, as the container states it. `wsi.slide.decoding` applies it."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal

from wsi.records.fields import select_known_fields

Reduction = Literal[1, 2, 4, 8]  #: a tile decoded at 1, 1/2, 1/4 or 1/8 of its width and height
REDUCTIONS: Final[tuple[Reduction, ...]] = (1, 2, 4, 8)


class Codec(StrEnum):
    """The compression of a tile. The names are stored in indexes: only add."""

    JPEG = "jpeg"
    JPEG_RESTARTS = "jpeg-restarts"  #: slices of one huge JPEG
    JPEG_2000 = "jpeg2000"
    NONE = "none"
    PACKBITS = "packbits"
    LZW = "lzw"
    DEFLATE = "deflate"
    ZSTD = "zstd"
    LZMA = "lzma"
    WEBP = "webp"
    PNG = "png"
    LERC = "lerc"
    OLD_JPEG = "old-jpeg"  #: bare scans; `Coding.tables` is all that comes before them


class Colour(StrEnum):
    """The meaning of a pixel's samples, as the container states it; a codec's own opinion does not count."""

    RGB = "rgb"
    YCBCR = "ycbcr"  #: full range, as JFIF has it
    GREY = "grey"  #: 0 is black
    GREY_INVERTED = "grey-inverted"  #: 0 is white
    AS_CODED = "as-coded"  #: the container is silent: the codec's own rule decides, and how many samples there are too


class Extra(StrEnum):
    """The meaning of the sample after the colours."""

    NONE = "none"  #: there is none
    IGNORED = "ignored"
    ASSOCIATED = "associated"  #: alpha, by which the colours are multiplied already
    UNASSOCIATED = "unassociated"  #: alpha, by which they are not


@dataclass(frozen=True, kw_only=True, slots=True)
class Coding:
    """The coding that all tiles of a level share."""

    codec: Codec
    colour: Colour
    tables: bytes = b""  #: JPEG segments that each tile needs and does not hold
    planes: bool = False  #: each sample is a piece of its own, packed alone; otherwise pieces are parts of one stream
    predictor: bool = False  #: samples are differences to the pixel on their left (TIFF predictor 2)
    extra: Extra = Extra.NONE
    items: bool = False  #: pieces are whole items of DICOM with their headers
    reference: tuple[int, ...] = ()  #: black and white of Y, Cb and Cr, where old JPEG states them
    ground: int = 255  #: grey value behind transparent pixels; set by the decoding caller, not read or stored

    @property
    def samples(self) -> int:
        """Samples a pixel; 0 where the codec alone knows."""
        if self.colour is Colour.AS_CODED:
            return 0
        grey = self.colour in (Colour.GREY, Colour.GREY_INVERTED)
        return (1 if grey else 3) + (self.extra is not Extra.NONE)

    def as_json(self) -> dict[str, Any]:
        return {
            "codec": self.codec,
            "colour": self.colour,
            "tables": base64.b64encode(self.tables).decode(),
            "planes": self.planes,
            "predictor": self.predictor,
            "extra": self.extra,
            "items": self.items,
            **({"reference": list(self.reference)} if self.reference else {}),
        }

    @staticmethod
    def from_json(value: dict[str, Any]) -> Coding:
        fields: dict[str, Any] = {
            **select_known_fields(Coding, value),
            "codec": Codec(value["codec"]),
            "colour": Colour(value["colour"]),
            "tables": base64.b64decode(value["tables"]),
            "extra": Extra(value.get("extra", Extra.NONE)),
            "reference": tuple(value.get("reference", ())),
        }
        return Coding(**fields)
