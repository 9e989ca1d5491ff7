"""Writers of OME-TIFF: tifffile writes the OME-XML and the pyramid below each page (SubIFDs)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tifffile
from numpy.typing import NDArray

from tests.slides import he_tissue

Layout = Literal["interleaved", "planar", "channels"]
_SAMPLES_FIRST = (2, 0, 1)


@functools.cache
def ome_pyramid(width: int = 700, height: int = 520, *, levels: int = 3) -> tuple[NDArray[np.uint8], ...]:
    """Tissue of [height, width, 3] and halves of it. Made once: not to be written to."""
    pixels = he_tissue(np.random.default_rng(0), height, width)
    return tuple(np.ascontiguousarray(pixels[:: 2**level, :: 2**level]) for level in range(levels))


def write_ome(
    path: Path,
    levels: Sequence[NDArray[Any]],
    *,
    layout: Layout = "interleaved",
    size: float | tuple[float, float] | None = 0.5,
    unit: str = "µm",
    compression: str | None = "deflate",
    more: Sequence[tuple[str, NDArray[Any]]] = (),
    metadata: dict[str, Any] | None = None,
    tile: int = 128,
    big: bool = False,
    byte_order: Literal["<", ">"] = "<",
) -> Path:
    """`levels` are [height, width, 3], or [3, height, width] where `metadata` gives axes of its own. `more` are other
    pictures of the file, by name, that come before the slide when their name begins with "first "."""
    across, down = size if isinstance(size, tuple) else (size, size)
    said: dict[str, Any] = {"axes": {"interleaved": "YXS", "planar": "SYX", "channels": "CYX"}[layout], "Name": "slide"}
    if across is not None:
        said |= {"PhysicalSizeX": across, "PhysicalSizeXUnit": unit}
        said |= {"PhysicalSizeY": down, "PhysicalSizeYUnit": unit}
    said |= metadata or {}
    with tifffile.TiffWriter(path, ome=True, bigtiff=big, byteorder=byte_order) as writer:
        for name, pixels in more:
            if name.startswith("first "):
                _write_other(writer, name.removeprefix("first "), pixels)
        options: dict[str, Any] = {"tile": (tile, tile), "compression": compression}
        options |= {
            "interleaved": {"photometric": "rgb"},
            "planar": {"photometric": "rgb", "planarconfig": "separate"},
            "channels": {"photometric": "minisblack"},
        }[layout]
        for number, pixels in enumerate(levels):
            stored = (
                pixels if layout == "interleaved" or "axes" in (metadata or {}) else pixels.transpose(_SAMPLES_FIRST)
            )
            if number == 0:
                writer.write(stored, metadata=said, subifds=len(levels) - 1, **options)
            else:
                writer.write(stored, metadata=None, subfiletype=1, **options)
        for name, pixels in more:
            if not name.startswith("first "):
                _write_other(writer, name, pixels)
    return path


def rewrite_description(path: Path, change: dict[str, str]) -> Path:
    """Exchanges texts in the OME-XML; what grows shorter is filled up with blanks."""
    with tifffile.TiffFile(path, mode="r+") as file:
        tag = file.pages.first.tags["ImageDescription"]
        text = str(tag.value)
        for before, after in change.items():
            assert before in text, f"the OME-XML has no {before}"
            text = text.replace(before, after)
        tag.overwrite(text.encode())
    return path


def _write_other(writer: tifffile.TiffWriter, name: str, pixels: NDArray[Any]) -> None:
    writer.write(
        pixels, photometric="rgb", tile=(64, 64), compression="deflate", metadata={"axes": "YXS", "Name": name}
    )
