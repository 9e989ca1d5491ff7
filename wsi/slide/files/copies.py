"""The comparison of two files that may be copies of each other."""

from __future__ import annotations

from typing import Final

from wsi.slide.ranges import ByteRange, RangeSource

_WHOLE: Final = 64 * 1024**2  #: bytes of a file that is compared as a whole
_SAMPLES: Final = 64  #: of a larger one, spread evenly, with both ends
_SAMPLE: Final = 65_536  #: bytes


def are_copies(one: RangeSource, other: RangeSource) -> bool:
    """Return whether both files hold the same bytes. Above 64 MiB samples of 4 MiB in all decide: two scans differ in
    every tile, and a slide of many gigabytes would take minutes. Raises SourceError."""
    if one.size != other.size:
        return False
    return all(one.read(part) == other.read(part) for part in _parts(one.size))


def _parts(size: int) -> list[ByteRange]:
    if size <= _WHOLE:
        return [ByteRange(at, min(at + 1024**2, size)) for at in range(0, size, 1024**2)]
    step = (size - _SAMPLE) // (_SAMPLES - 1)
    starts = [number * step for number in range(_SAMPLES - 1)] + [size - _SAMPLE]
    return [ByteRange(at, at + _SAMPLE) for at in starts]
