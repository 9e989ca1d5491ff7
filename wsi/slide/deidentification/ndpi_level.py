"""The level of an NDPI, which is one JPEG of gigabytes: what its header says, and what is behind its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wsi.errors import TileUnreadable
from wsi.slide import tiff
from wsi.slide.deidentification.jpeg_comments import END, locate_behind, locate_comments
from wsi.slide.deidentification.refusing import make_deidentification_error
from wsi.slide.layouts import ndpi
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.tiff import Directory

_MOST: Final = 64 * 1024**2  #: bytes of the last slice, or of a level without slices


def locate_level_comments(level: Directory, source: RangeSource) -> Iterator[ByteRange]:
    """Yield the places that are not blank of comments in the header, and of what is behind the JPEG's end. Raises
    SlideRejected, SourceError."""
    starts, sizes = (level.read_integers(tag) for tag in (tiff.STRIP_OFFSETS, tiff.STRIP_BYTE_COUNTS))
    if starts is None or sizes is None:
        return
    start = int(starts[0])
    end = min(start + int(sizes[0]), source.size)
    head = source.read(ByteRange(start, min(end, start + ndpi.HEADER)))
    try:
        for begin, stop in locate_comments(head):
            if head[begin:stop].strip(b"\0"):
                yield ByteRange(start + begin, start + stop)
    except TileUnreadable as error:
        raise make_deidentification_error("A level of the file has no JPEG header that can be read") from error
    last = _find_last_slice(level)
    if last is not None and last >= end - start:
        return
    place = ByteRange(start + (last or 0), end)
    if place.size > _MOST:
        raise make_deidentification_error("A level of the file has no list of its slices, or one that ends too early")
    data = source.read(place)
    found = locate_behind(data) if last is None else [(data.find(END) + 2, len(data))]
    for begin, stop in found:
        if begin >= 2 and data[begin:stop].strip(b"\0"):
            yield ByteRange(place.start + begin, place.start + stop)


def _find_last_slice(level: Directory) -> int | None:
    """Return where the last restart slice starts, from the JPEG's first byte; None for a level without a list."""
    lower, upper = (level.read_integers(tag) for tag in (ndpi.STARTS, ndpi.STARTS_UPPER))
    if lower is None or not len(lower):
        return None
    return int(lower[-1]) + (int(upper[-1]) << 32 if upper is not None and len(upper) else 0)
