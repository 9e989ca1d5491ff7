"""The mask of a slide as the plan carries it: the parts that were analysed, and how that was decided."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

DETECTED, DRAWN = "detected", "geojson"


@dataclass(frozen=True, slots=True)
class SlideMask:
    pixels: NDArray[np.bool_]  #: [height, width] over the whole slide, whatever its own size
    source: str = DETECTED  #: DETECTED (`wsi.inspection.tissue`) or DRAWN (`wsi.records.outline`)
    settings: Mapping[str, Any] = field(
        default_factory=dict[str, Any]
    )  #: with which it was made, its version among them
    pen_fraction: float = 0.0  #: of the slide's area: pen marks that were left out

    def as_json(self) -> dict[str, Any]:
        """Return the mask with one bit a pixel, packed: one of 2,048 x 2,048 px takes some tens of kilobytes."""
        height, width = self.pixels.shape
        return {
            "height": height,
            "width": width,
            "bits": base64.b64encode(zlib.compress(np.packbits(self.pixels).tobytes(), 6)).decode(),
            "source": self.source,
            "settings": list(self.settings.items()),
            "pen_fraction": self.pen_fraction,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> SlideMask:
        height, width = value["height"], value["width"]
        bits = np.frombuffer(zlib.decompress(base64.b64decode(value["bits"])), np.uint8)
        pixels = np.unpackbits(bits, count=height * width).reshape(height, width).astype(np.bool_)
        return SlideMask(pixels, value["source"], dict(value["settings"]), value.get("pen_fraction", 0.0))
