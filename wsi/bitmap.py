"""A mask without numpy: a row is one integer, on which the machine works some thousand pixels at a time."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Bitmap:
    width: int  #: px
    rows: tuple[int, ...]  #: from the top; the highest of a row's `width` bits is its left pixel

    @property
    def height(self) -> int:
        return len(self.rows)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Bitmap:
        """Of what `SlideMask.as_json` gives."""
        height, width = value["height"], value["width"]
        packed = zlib.decompress(base64.b64decode(value["bits"]))
        text = f"{int.from_bytes(packed):0{8 * len(packed)}b}"
        return Bitmap(width, tuple(int(text[start : start + width], 2) for start in range(0, height * width, width)))

    def packed(self) -> bytes:
        """A bit a pixel, row after row, zeros at the end: what `numpy.packbits` makes of the mask."""
        text = "".join(self.texts())
        size = -(-len(text) // 8)
        return int(text.ljust(8 * size, "0"), 2).to_bytes(size)

    def texts(self) -> Iterable[str]:
        """Each row as zeros and ones."""
        return (f"{row:0{self.width}b}" for row in self.rows)
