"""A TIFF without what identifies somebody. The pages of the slide stay, with the tags by which their pixels are read,
and every byte that belongs to neither is written over with zeros: other pages with their pixels, other tags, and what
no directory speaks of.

Each directory is written again in its own place with fewer tags, so that nothing moves. Source: TIFF 6.0.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import TileUnreadable
from wsi.records.slides import Removed
from wsi.slide import jpeg, tiff
from wsi.slide.deidentification.overwrites import PADDING, Overwrite, gaps, in_order, merged
from wsi.slide.deidentification.refusing import can_not
from wsi.slide.ranges import ByteRange
from wsi.slide.tiff import Directory, Entry, Layout, Tiff

#: How the pixels of a page are laid out, coded, coloured and scaled: numbers, JPEG tables and the colour profile.
PIXEL_TAGS: Final = frozenset(
    {
        tiff.NEW_SUBFILE_TYPE,
        tiff.IMAGE_WIDTH,
        tiff.IMAGE_LENGTH,
        tiff.BITS_PER_SAMPLE,
        tiff.COMPRESSION,
        tiff.PHOTOMETRIC,
        tiff.FILL_ORDER,
        tiff.ORIENTATION,
        tiff.SAMPLES_PER_PIXEL,
        tiff.X_RESOLUTION,
        tiff.Y_RESOLUTION,
        tiff.PLANAR_CONFIGURATION,
        tiff.RESOLUTION_UNIT,
        tiff.PREDICTOR,
        tiff.EXTRA_SAMPLES,
        tiff.SAMPLE_FORMAT,
        tiff.JPEG_TABLES,
        tiff.YCBCR_COEFFICIENTS,
        tiff.YCBCR_SUBSAMPLING,
        tiff.YCBCR_POSITIONING,
        tiff.REFERENCE_BLACK_WHITE,
        tiff.IMAGE_DEPTH,
        tiff.ICC_PROFILE,
        tiff.LERC_PARAMETERS,
    }
)
_TILES: Final = frozenset({tiff.TILE_WIDTH, tiff.TILE_LENGTH, tiff.TILE_OFFSETS, tiff.TILE_BYTE_COUNTS})
_STRIPS: Final = frozenset({tiff.STRIP_OFFSETS, tiff.STRIP_BYTE_COUNTS, tiff.ROWS_PER_STRIP})
_UNCOUNTED: Final = _TILES | _STRIPS | {tiff.SUB_DIRECTORIES}  #: places; a page may hold more than it needs
_FEW_NUMBERS: Final = PIXEL_TAGS - {tiff.ICC_PROFILE, tiff.JPEG_TABLES}
_LONGEST: Final = 64  #: bytes of these; black and white of three colours take 48
_TEXT: Final = 2  #: type ASCII
_WORDS: Final = frozenset({1, _TEXT, 6, 7})  #: types of bytes, which may be letters
_OLD_JPEG: Final = 6
_COMMENT, _APP0, _APP14, _APP15 = 0xFE, 0xE0, 0xEE, 0xEF  #: markers of JPEG


@dataclass(frozen=True, slots=True)
class KeptPage:
    directory: Directory
    text: bytes | None = None  #: that replaces its description; None: it has none any more
    lost: int = 0  #: values that the new description lacks
    spare: Entry | None = None  #: of a page that goes, whose place the text may take
    more: frozenset[int] = frozenset()  #: tags of the format that stay too, beside `PIXEL_TAGS`
    below: tuple[KeptPage, ...] = ()  #: smaller pictures that hang on it (SubIFDs)


@dataclass(slots=True)
class _Kept:
    """What stays of the file, as it is gathered."""

    starts: list[NDArray[np.int64]] = field(default_factory=list[NDArray[np.int64]])
    ends: list[NDArray[np.int64]] = field(default_factory=list[NDArray[np.int64]])

    def add(self, place: ByteRange) -> None:
        self.add_all(np.array([place.start]), np.array([place.end]))

    def add_all(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        self.starts.append(starts.astype(np.int64))
        self.ends.append(ends.astype(np.int64))

    def merged(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return merged(np.concatenate(self.starts), np.concatenate(self.ends))


def clean_pages(file: Tiff, pages: Sequence[KeptPage], size: int) -> tuple[tuple[Overwrite, ...], Removed]:
    """`pages` are those of the file's chain that stay, in the file's order. Raises SlideRejected."""
    layout = file.layout
    staying = {page.directory.place for page in pages}
    others = [directory for directory in file.directories if directory.place not in staying]
    kept, written, texts = _Kept(), list[Overwrite](), list[ByteRange]()
    following = [page.directory.place.start for page in pages[1:]] + [0]
    written.append(_header(layout, pages[0].directory.place.start))
    tags = 0
    for page, place in zip(pages, following, strict=True):
        tags += _write_page(layout, page, place, size, kept, written, texts)
    for directory in others:
        texts += _texts(layout, directory, directory.entries.keys() - PIXEL_TAGS)
    pixels = [place for directory in others for place in _pixels(directory, size)]
    try:
        overwrites = in_order([*written, *_zeros(kept, written, pixels, texts, size)])
    except ValueError:
        raise can_not("Two of the file's pictures share their tags") from None
    pictures = len(others) + sum(_dropped_below(page) for page in pages)
    return overwrites, Removed(images=pictures, tags=tags)


def _header(layout: Layout, first: int) -> Overwrite:
    return Overwrite(ByteRange(layout.header, layout.header + (8 if layout.wide else 4)), _word(layout, first))


def _write_page(
    layout: Layout,
    page: KeptPage,
    following: int,
    size: int,
    kept: _Kept,
    written: list[Overwrite],
    texts: list[ByteRange],
) -> int:
    """How many tags it lost or had rewritten."""
    directory = page.directory
    if directory.integer(tiff.COMPRESSION, 1) == _OLD_JPEG:
        raise can_not("The file's tiles are packed as old JPEG, whose tables lie anywhere")
    tiled = tiff.TILE_WIDTH in directory
    names = PIXEL_TAGS | page.more | (_TILES if tiled else _STRIPS)
    replaced = dict(_replaced(layout, page))
    unchanged = [tag for tag in directory.entries if tag in names and tag not in replaced]
    long = [tag for tag in unchanged if tag in _FEW_NUMBERS and _size(directory, tag) > _LONGEST]
    if long:
        raise can_not(f"Tag {long[0]} of the file is longer than it can be")
    staying = {tag: _entry(layout, directory, tag, kept) for tag in unchanged}
    for tag, (kind, count, data) in replaced.items():
        own = directory.entries.get(tag)
        places = [place for place in (own, page.spare) if place is not None]
        staying[tag] = _new_entry(layout, places, kind, count, data, written)
    if len(staying) > _room(layout, directory):
        raise can_not("The file's first page has no room for the description of the slide")
    dropped = [tag for tag in directory.entries if tag not in staying]
    texts += _texts(layout, directory, (*dropped, *replaced))
    written.append(Overwrite(directory.place, _directory(layout, directory, staying, following)))
    starts, ends = _data(directory, tiled=tiled, size=size)
    kept.add_all(starts, ends)
    below = sum(_write_page(layout, smaller, 0, size, kept, written, texts) for smaller in page.below)
    return len([tag for tag in dropped if tag not in _UNCOUNTED]) + page.lost + below


def _replaced(layout: Layout, page: KeptPage) -> Iterator[tuple[int, tuple[int, int, bytes]]]:
    """Tag, and (type, count, value) of what it holds now."""
    directory = page.directory
    if page.text is not None:
        yield tiff.IMAGE_DESCRIPTION, (_TEXT, len(page.text) + 1, page.text + b"\0")
    if page.below:
        kind = directory.entries[tiff.SUB_DIRECTORIES].type
        width = tiff.size_of(kind, 1)
        data = b"".join(_number(layout, smaller.directory.place.start, width) for smaller in page.below)
        yield tiff.SUB_DIRECTORIES, (kind, len(page.below), data)
    tables = directory.data(tiff.JPEG_TABLES)
    if tables is not None:
        entry = directory.entries[tiff.JPEG_TABLES]
        yield tiff.JPEG_TABLES, (entry.type, entry.count, _without_comments(tables))


def _without_comments(tables: bytes) -> bytes:
    """Tables of JPEG whose comments and markers of applications hold zeros."""
    data = bytearray(tables)
    try:
        for marker, start, end in jpeg.segments(tables):
            if marker == _COMMENT or (_APP0 < marker <= _APP15 and marker != _APP14):
                data[start + 4 : end] = bytes(end - start - 4)
    except TileUnreadable as error:
        raise tiff.damaged("The JPEG tables that the file's tiles share are damaged.") from error
    return bytes(data)


# --- directories


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: int
    count: int
    value: bytes  #: of the entry: the value itself, or its offset
    upper: int = 0  #: what an NDPI keeps behind the directory


def _entry(layout: Layout, directory: Directory, tag: int, kept: _Kept) -> _Entry:
    """As it stands; a value that lies elsewhere stays there."""
    entry = directory.entries[tag]
    width, size = 8 if layout.big else 4, tiff.size_of(entry.type, entry.count)
    if size <= width:
        return _Entry(entry.type, entry.count, directory.at(entry.offset, width), entry.upper)
    kept.add(ByteRange(entry.offset, entry.offset + size))
    return _elsewhere(layout, entry.type, entry.count, entry.offset)


def _new_entry(
    layout: Layout, places: Sequence[Entry], kind: int, count: int, data: bytes, written: list[Overwrite]
) -> _Entry:
    """A value in the first of `places` that it fits into."""
    width = 8 if layout.big else 4
    if len(data) <= width:
        return _Entry(kind, count, data.ljust(width, b"\0"))
    for place in places:
        size = tiff.size_of(place.type, place.count)
        if size >= len(data):
            written.append(Overwrite(ByteRange(place.offset, place.offset + size), data.ljust(size, b"\0")))
            return _elsewhere(layout, kind, count, place.offset)
    raise can_not("The file's description is too short to hold what readers need")


def _elsewhere(layout: Layout, kind: int, count: int, offset: int) -> _Entry:
    width = 8 if layout.big else 4
    return _Entry(kind, count, _number(layout, offset % 2 ** (8 * width), width), offset >> 8 * width)


def _directory(layout: Layout, directory: Directory, entries: dict[int, _Entry], following: int) -> bytes:
    """As long as it was: what it no longer needs is zeros."""
    rows = sorted(entries.items())
    heads = struct.Struct(f"{layout.order}HH{'Q' if layout.big else 'I'}")
    body = b"".join(heads.pack(tag, entry.kind, entry.count) + entry.value for tag, entry in rows)
    uppers = b"".join(_number(layout, entry.upper, 4) for _, entry in rows) if layout.ndpi else b""
    counted = _number(layout, len(rows), 8 if layout.big else 2)
    return (counted + body + _word(layout, following) + uppers).ljust(directory.place.size, b"\0")


def _room(layout: Layout, directory: Directory) -> int:
    """How many tags fit in the directory's place."""
    counter, stride, word = (8, 20, 8) if layout.big else (2, 16 if layout.ndpi else 12, 8 if layout.ndpi else 4)
    return (directory.place.size - counter - word) // stride


def _size(directory: Directory, tag: int) -> int:
    entry = directory.entries[tag]
    return tiff.size_of(entry.type, entry.count)


def _texts(layout: Layout, directory: Directory, tags: Iterable[int]) -> Iterator[ByteRange]:
    """Where values that may be words lie, outside of the directory."""
    width = 8 if layout.big else 4
    for entry in (directory.entries[tag] for tag in tags if tag in directory.entries):
        length = tiff.size_of(entry.type, entry.count)
        if entry.type in _WORDS and length > width:
            yield ByteRange(entry.offset, entry.offset + length)


def _word(layout: Layout, offset: int) -> bytes:
    """The offset of a directory."""
    return _number(layout, offset, 8 if layout.wide else 4)


def _number(layout: Layout, value: int, width: int) -> bytes:
    return value.to_bytes(width, "little" if layout.order == "<" else "big")


# --- pixels


def _data(directory: Directory, *, tiled: bool, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the page's tiles or strips begin and end, without those whose bytes no reader would ask for: what such a
    place claims can be anything, the label too."""
    tags = (tiff.TILE_OFFSETS, tiff.TILE_BYTE_COUNTS) if tiled else (tiff.STRIP_OFFSETS, tiff.STRIP_BYTE_COUNTS)
    starts, sizes = (directory.integers(tag) for tag in tags)
    if starts is None or sizes is None or len(starts) != len(sizes):
        raise tiff.damaged("A picture of the file does not say where its pixels lie.")
    width, height = (directory.integer(tag, 0) for tag in (tiff.IMAGE_WIDTH, tiff.IMAGE_LENGTH))
    if tiled:
        width, height = (directory.integer(tag, 0) for tag in (tiff.TILE_WIDTH, tiff.TILE_LENGTH))
    else:
        height = min(height, directory.integer(tiff.ROWS_PER_STRIP, height))
    asked = (sizes > 0) & (starts > 0) & (starts <= size - sizes) & (sizes <= 12 * width * height + 65_536)
    return starts[asked], starts[asked] + sizes[asked]


def _pixels(directory: Directory, size: int) -> Iterator[ByteRange]:
    """Of a picture that goes, as far as it says where they lie."""
    if not {tiff.TILE_OFFSETS, tiff.STRIP_OFFSETS} & directory.entries.keys():
        return
    starts, ends = _data(directory, tiled=tiff.TILE_WIDTH in directory, size=size)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        yield ByteRange(start, end)


def _dropped_below(page: KeptPage) -> int:
    hanging = page.directory.integers(tiff.SUB_DIRECTORIES)
    return (0 if hanging is None else len(hanging)) - len(page.below) + sum(map(_dropped_below, page.below))


def _zeros(
    kept: _Kept,
    written: Sequence[Overwrite],
    pixels: Sequence[ByteRange],
    texts: Sequence[ByteRange],
    size: int,
) -> Iterator[Overwrite]:
    """All that is neither kept nor written. `pixels` and `texts` are what must be gone then."""
    starts, ends = kept.merged()
    for place in (*pixels, *texts, *(one.place for one in written)):
        if np.any((starts < place.end) & (ends > place.start)):
            raise can_not("What goes from the file shares its bytes with what stays")
    for one in written:
        kept.add(one.place)
    kept.add(ByteRange(0, written[0].place.end))  # the file's first bytes, up to where the first directory lies
    short = [text for text in texts if text.size < PADDING]
    for gap in gaps(*kept.merged(), size):
        if gap.size >= PADDING or any(text.start < gap.end and gap.start < text.end for text in short):
            yield Overwrite(gap)
