"""Files that are DICOM and TIFF at once: a TIFF header in the DICOM preamble, and its directories in the padding behind
the pixels, which both share.

Layouts: Bio-Formats' DICOM writer (bioformats PR#3911; both byte orders, BigTIFF from 4 GB) and pixelmed's TIFFToDicom,
which the Imaging Data Commons uses (files DCM_0, DCM_1 …; a colour profile in the padding) and which can hide a TIFF
pyramid in a private sequence (bioformats issue 4165). Source: Clunie, J Pathol Inform 10:12, 2019.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np
import pydicom
import simplejpeg
from pydicom import Dataset
from pydicom.encaps import encapsulate

from tests.slides.dicoms import SERIES, Pixels, Writing, write_picture

SAID: Final = "Doeringer S11-4711"  #: in the directories
_PIXELS: Final = bytes.fromhex("e07f1000") + b"OB\0\0"
_ITEM: Final = bytes.fromhex("feff00e0")
_BYTE, _ASCII, _SHORT, _LONG, _RATIONAL, _UNDEFINED, _LONG8 = 1, 2, 3, 4, 5, 7, 16
_SIZES: Final = {_BYTE: 1, _ASCII: 1, _SHORT: 2, _LONG: 4, _RATIONAL: 8, _UNDEFINED: 1, _LONG8: 8}

IDC_NAMES: Final = ("DCM_0", "DCM_1", "DCM_2", "DCM_3")

Entry = tuple[int, int, int, bytes]  #: tag, type, count, values


@dataclass(frozen=True, kw_only=True)
class Tiff:
    """How the TIFF in the file is written; the defaults are what Bio-Formats does."""

    order: Literal["<", ">"] = "<"
    big: bool = False
    description: str = f"{SAID}|MPP = 0.5"
    profile: bytes = b""
    hidden: Sequence[Pixels] = ()  #: a pyramid in a private sequence, of which only the TIFF speaks


def write_dual(path: Path, picture: Pixels, how: Writing | None = None, tiff: Tiff | None = None) -> Path:
    how, tiff = how or Writing(table="none"), tiff or Tiff()
    write_picture(path, picture, how)
    if tiff.hidden:
        _hide(path, tiff.hidden, how)
    data = bytearray(path.read_bytes())
    places = _places(bytes(data))
    pages = [(picture, places[-1]), *zip(tiff.hidden, places, strict=False)]
    start = len(data) + 12
    directories = _directories(pages, how, tiff, start)
    data += bytes.fromhex("fcfffcff") + b"OB\0\0" + len(directories).to_bytes(4, "little") + directories
    mark = {"<": b"II", ">": b"MM"}[tiff.order]
    head = struct.pack(f"{tiff.order}HHHQ", 43, 8, 0, start) if tiff.big else struct.pack(f"{tiff.order}HI", 42, start)
    data[: len(mark + head)] = mark + head
    path.write_bytes(data)
    return path


def write_dual_series(
    folder: Path,
    base: Pixels,
    *,
    label: Pixels | None = None,
    names: Sequence[str] = IDC_NAMES,
    how: Writing | None = None,
    tiff: Tiff | None = None,
) -> list[Path]:
    """Two levels, label and overview, in the order of `names`."""
    how = how or Writing(table="none")
    overview = base[::-1][:50, :120].copy()
    label = overview[:, :70].copy() if label is None else label
    coarse = replace(how, spacing=(0.001, 0.001), more={**how.more, "ImageType": ["DERIVED", "PRIMARY", "VOLUME", "X"]})
    return [
        write_dual(folder / names[0], base, how, tiff),
        write_dual(folder / names[1], base[::2, ::2].copy(), coarse, tiff),
        write_dual(folder / names[2], label, replace(how, kind="LABEL", place=f"{SERIES}.55"), tiff),
        write_dual(folder / names[3], overview, replace(how, kind="OVERVIEW"), tiff),
    ]


def _hide(path: Path, pictures: Sequence[Pixels], how: Writing) -> None:
    dataset = pydicom.dcmread(path)
    items: list[Dataset] = []
    for picture in pictures:
        item = Dataset()
        item.is_undefined_length_sequence_item = True
        item.Rows = item.Columns = how.tile
        item.TotalPixelMatrixColumns, item.TotalPixelMatrixRows = picture.shape[1], picture.shape[0]
        frames = [
            simplejpeg.encode_jpeg(_padded(picture[y : y + how.tile, x : x + how.tile], how.tile), colorspace="RGB")
            for y in range(0, picture.shape[0], how.tile)
            for x in range(0, picture.shape[1], how.tile)
        ]
        item.add_new("PixelData", "OB", encapsulate(frames, has_bot=False))
        item["PixelData"].is_undefined_length = True
        items.append(item)
    block = dataset.private_block(0x7FDF, "PixelMed Publishing", create=True)
    block.add_new(0x01, "SQ", items)
    block[0x01].is_undefined_length = True
    dataset.save_as(path)


def _padded(tile: Pixels, side: int) -> Pixels:
    height, width = tile.shape[:2]
    return np.ascontiguousarray(np.pad(tile, [(0, side - height), (0, side - width), (0, 0)], mode="edge"))


def _places(data: bytes) -> list[list[tuple[int, int]]]:
    """(offset, size) of each frame, of the pixels of each picture in the file's order: the slide's own are last."""
    found: list[list[tuple[int, int]]] = []
    at = data.find(_PIXELS)
    while at >= 0:
        at += 12
        items: list[tuple[int, int]] = []
        while data[at : at + 4] == _ITEM:
            size = int.from_bytes(data[at + 4 : at + 8], "little")
            items.append((at + 8, size))
            at += 8 + size
        found.append(items[1:])  # without the table of offsets
        at = data.find(_PIXELS, at)
    return found


def _directories(
    pages: Sequence[tuple[Pixels, Sequence[tuple[int, int]]]], how: Writing, tiff: Tiff, start: int
) -> bytes:
    written = b""
    for number, (picture, places) in enumerate(pages):
        entries = _entries(picture, places, how, tiff, reduced=number > 0)
        written += _directory(entries, tiff, start + len(written), last=number == len(pages) - 1)
    return written + b"\0" * (len(written) % 2)


def _entries(
    picture: Pixels, places: Sequence[tuple[int, int]], how: Writing, tiff: Tiff, *, reduced: bool
) -> list[Entry]:
    order = tiff.order
    place = _LONG8 if tiff.big else _LONG
    text = tiff.description.encode() + b"\0"

    def shorts(tag: int, *values: int) -> Entry:
        return tag, _SHORT, len(values), struct.pack(f"{order}{len(values)}H", *values)

    def longs(tag: int, kind: int, *values: int) -> Entry:
        letter = "Q" if kind == _LONG8 else "I"
        return tag, kind, len(values), struct.pack(f"{order}{len(values)}{letter}", *values)

    return [
        *([longs(254, _LONG, 1)] if reduced else []),
        longs(256, _LONG, picture.shape[1]),
        longs(257, _LONG, picture.shape[0]),
        shorts(258, 8, 8, 8),
        shorts(259, 7),
        shorts(262, 6),
        (270, _ASCII, len(text), text),
        shorts(277, 3),
        (282, _RATIONAL, 1, struct.pack(f"{order}II", 20_000, 1)),
        (283, _RATIONAL, 1, struct.pack(f"{order}II", 20_000, 1)),
        shorts(284, 1),
        shorts(296, 3),
        (305, _ASCII, len(text), text),
        shorts(322, how.tile),
        shorts(323, how.tile),
        longs(324, place, *(offset for offset, _ in places)),
        longs(325, place, *(size for _, size in places)),
        *([(34675, _UNDEFINED, len(tiff.profile), tiff.profile)] if tiff.profile else []),
    ]


def _directory(entries: Sequence[Entry], tiff: Tiff, start: int, *, last: bool) -> bytes:
    """Entries, and behind them the values that do not fit in."""
    count, place, fits = ("Q", "Q", 8) if tiff.big else ("H", "I", 4)
    size = struct.calcsize(f"{tiff.order}{count}{place}") + len(entries) * (12 + 2 * (fits - 4))
    body, behind = struct.pack(f"{tiff.order}{count}", len(entries)), b""
    for tag, kind, number, values in entries:
        body += struct.pack(f"{tiff.order}HH{place}", tag, kind, number)
        if len(values) <= fits:
            body += values.ljust(fits, b"\0")
        else:
            body += struct.pack(f"{tiff.order}{place}", start + size + len(behind))
            behind += values + b"\0" * (len(values) % 2)
    following = 0 if last else start + size + len(behind)
    return body + struct.pack(f"{tiff.order}{place}", following) + behind
