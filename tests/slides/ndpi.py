"""Writers of NDPI, as NanoZoomer scanners lay it out: a classic TIFF of one JPEG a level that is cut by restart markers
into slices of one row of blocks, and a private tag that lists where each slice starts.

Source: openslide-vendor-hamamatsu.c and tifffile's notes on NDPI; OpenSlide opens what is written here.
"""

from __future__ import annotations

import functools
import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.slides import he_tissue

FOUR_GIB = 2**32
_ROWS = {"4:2:2": 8, "4:2:0": 16}  #: px of a row of blocks
Starts = Literal["good", "none", "one off by 7", "one missing"]


@dataclass(frozen=True, kw_only=True)
class NdpiLevel:
    """One directory. `lens` is the magnification of a level, -1 of the macro picture, -2 of the map."""

    pixels: NDArray[np.uint8]  #: [height, width, 3]
    lens: float
    slice_width: int | None = 512  #: px; None for a JPEG without restart markers
    focus: int = 0  #: nm from the middle plane
    starts: Starts = "good"
    claimed: tuple[int, int] | None = None  #: width and height in the JPEG's own header, when not the directory's
    capture_mode: int = 0  #: from 6 on, grey of 16 bits
    subsampling: str = "4:2:2"  #: or "4:2:0", which OpenSlide cannot read
    gap_before_second: int = 0  #: bytes of nothing inside the first slice, which is lost by it
    texts: tuple[tuple[int, bytes], ...] = ()  #: further tags of text
    comment: bytes = b""  #: in the header of the JPEG
    behind: bytes = b""  #: after the end of the JPEG, within its strip


@dataclass
class _Entries:
    """Tags of a directory whose longer values are written before it."""

    file: BinaryIO
    values: dict[int, tuple[int, int, int]] = field(default_factory=dict[int, tuple[int, int, int]])

    def add(self, tag: int, kind: int, count: int, value: int | bytes) -> None:
        if isinstance(value, bytes):
            value = int.from_bytes(value, "little") if len(value) <= 4 else _append(self.file, value)
        self.values[tag] = (kind, count, value)

    def directory(self, following: int) -> bytes:
        rows = sorted(self.values.items())
        lower = b"".join(struct.pack("<HHII", tag, *value[:2], value[2] & 0xFFFFFFFF) for tag, value in rows)
        upper = struct.pack(f"<{len(rows)}I", *(value[2] >> 32 for _, value in rows))
        return struct.pack("<H", len(rows)) + lower + struct.pack("<Q", following) + upper


def write_ndpi(path: Path, levels: Sequence[NdpiLevel], *, mpp: float = 0.25, first_byte: int = 12) -> Path:
    """`mpp` is of the first level. `first_byte` is where the pictures begin: past 4 GiB the file is sparse."""
    with path.open("wb") as file:
        file.write(b"II*\0" + bytes(8))
        file.seek(first_byte)
        pointer = 4
        for level in levels:
            entries = _directory(file, level, mpp * levels[0].lens / level.lens)
            place = _append(file, entries.directory(0))
            file.seek(pointer)
            file.write(struct.pack("<Q", place))
            file.seek(0, io.SEEK_END)
            pointer = place + 2 + 12 * len(entries.values)
    return path


@functools.cache
def ndpi_levels(
    width: int = 2048,
    height: int = 1024,
    *,
    slice_width: int = 512,
    downsamples: tuple[int, ...] = (1, 4, 16),
    seed: int = 0,
) -> tuple[NdpiLevel, ...]:
    """Tissue at each of `downsamples`; the smallest level has no restart markers, as on real slides. Then the macro
    picture and the map. Made once: not to be written to."""
    pixels = he_tissue(np.random.default_rng(seed), height, width)
    levels = [
        NdpiLevel(
            pixels=np.ascontiguousarray(pixels[::step, ::step]),
            lens=40 / step,
            slice_width=None if step == downsamples[-1] and step > 1 else max(slice_width // step, 16),
        )
        for step in downsamples
    ]
    plain = np.full((64, 192, 3), 220, np.uint8)
    return (
        *levels,
        NdpiLevel(pixels=plain, lens=-1, slice_width=None),
        NdpiLevel(pixels=plain, lens=-2, slice_width=None),
    )


def sliced_jpeg(level: NdpiLevel) -> tuple[bytes, list[int]]:
    """One JPEG of the whole level and the start of each slice in it, row by row. Columns of slices are encoded alone,
    so that a level may be wider than the 65,500 px of any encoder."""
    height, width = level.pixels.shape[:2]
    if level.slice_width is None:
        whole = _encode(level.pixels, level.subsampling, rows=False)
        return whole[:2] + _comment(level) + whole[2:] + level.behind, []
    columns = [
        _slices(_encode(np.ascontiguousarray(column), level.subsampling, rows=True))
        for column in np.split(level.pixels, range(level.slice_width, width, level.slice_width), axis=1)
    ]
    header = bytearray(columns[0][0])
    frame = header.index(b"\xff\xc0")
    claimed_width, claimed_height = level.claimed or (width, height)
    struct.pack_into(">HH", header, frame + 5, claimed_height & 0xFFFF, claimed_width & 0xFFFF)
    restart = header.index(b"\xff\xdd")
    struct.pack_into(">H", header, restart + 4, level.slice_width // 16)
    header[2:2] = _comment(level)
    out, starts = bytearray(header), list[int]()
    for row in range(-(-height // _ROWS[level.subsampling])):
        for column in range(len(columns)):
            if starts:
                out += bytes((0xFF, 0xD0 + (len(starts) - 1) % 8))
            starts.append(len(out))
            out += columns[column][1][row]
    return bytes(out) + b"\xff\xd9" + level.behind, starts


def _comment(level: NdpiLevel) -> bytes:
    size = len(level.comment) + 2
    return b"\xff\xfe" + size.to_bytes(2, "big") + level.comment if level.comment else b""


def _directory(file: BinaryIO, level: NdpiLevel, mpp: float) -> _Entries:
    height, width = level.pixels.shape[:2]
    jpeg, starts = sliced_jpeg(level)
    place, size = _append(file, jpeg), len(jpeg)
    if level.gap_before_second:
        file.seek(place)
        file.truncate()
        split = starts[1] - 2
        file.write(jpeg[:split])
        file.seek(level.gap_before_second, io.SEEK_CUR)
        file.write(jpeg[split:])
        size += level.gap_before_second
        starts = [starts[0], *(start + level.gap_before_second for start in starts[1:])]
    entries = _Entries(file)
    entries.add(256, 4, 1, width)
    entries.add(257, 4, 1, height)
    entries.add(258, 3, 3, struct.pack("<3H", 8, 8, 8))
    entries.add(259, 3, 1, 7)
    entries.add(262, 3, 1, 6)
    entries.add(271, 2, 10, b"Hamamatsu\0")
    entries.add(272, 2, 8, b"C9600-1\0")
    entries.add(273, 4, 1, place)
    entries.add(277, 3, 1, 3)
    entries.add(278, 4, 1, height)
    entries.add(279, 4, 1, size)
    density = struct.pack("<II", round(10_000_000 / abs(mpp)), 1_000)
    entries.add(282, 5, 1, density)
    entries.add(283, 5, 1, density)
    entries.add(296, 3, 1, 3)
    entries.add(65420, 4, 1, 1)
    entries.add(65421, 11, 1, struct.pack("<f", level.lens))
    entries.add(65422, 9, 1, 0)
    entries.add(65423, 9, 1, 0)
    entries.add(65424, 9, 1, struct.pack("<i", level.focus))
    entries.add(65441, 4, 1, level.capture_mode)
    for tag, text in level.texts:
        entries.add(tag, 2, len(text) + 1, text + b"\0")
    if starts and level.starts != "none":
        listed = starts[:-1] if level.starts == "one missing" else list(starts)
        if level.starts == "one off by 7":
            listed[len(listed) // 2] += 7
        entries.add(65426, 4, len(listed), struct.pack(f"<{len(listed)}I", *(start & 0xFFFFFFFF for start in listed)))
        if listed[-1] >= FOUR_GIB:
            entries.add(65432, 4, len(listed), struct.pack(f"<{len(listed)}I", *(start >> 32 for start in listed)))
    return entries


def _encode(pixels: NDArray[np.uint8], subsampling: str, *, rows: bool) -> bytes:
    """`rows`: a restart marker before each row of blocks but the first."""
    out = io.BytesIO()
    more = {"restart_marker_rows": 1} if rows else {}
    Image.fromarray(pixels).save(out, "JPEG", quality=80, subsampling=subsampling, **more)
    return out.getvalue()


def _slices(jpeg: bytes) -> tuple[bytes, list[bytes]]:
    """(header, what lies between the restart markers)."""
    scan = jpeg.index(b"\xff\xda")
    start = scan + 2 + int.from_bytes(jpeg[scan + 2 : scan + 4], "big")
    data = np.frombuffer(jpeg, np.uint8)
    marks = np.flatnonzero((data[start:-1] == 0xFF) & (data[start + 1 :] >= 0xD0) & (data[start + 1 :] <= 0xD7)) + start
    edges = [start, *(int(mark) + 2 for mark in marks), len(jpeg)]
    return jpeg[:start], [jpeg[left : right - 2] for left, right in pairwise(edges)]


def _append(file: BinaryIO, data: bytes) -> int:
    """At the file's end, on an even byte."""
    place = file.seek(0, io.SEEK_END) if file.tell() == 0 else file.tell()
    place += place % 2
    file.seek(place)
    file.write(data)
    return place
