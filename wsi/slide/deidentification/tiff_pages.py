"""De-identification of a TIFF. The pages of the slide stay, with the tags by which their pixels are read. Zeros
overwrite every other byte: other pages with their pixels, other tags, and what no directory refers to.

Each directory is rewritten in its own place with fewer tags, so that nothing moves. Source: TIFF 6.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.errors import TileUnreadable
from wsi.records.slides import Removed
from wsi.slide import tiff
from wsi.slide.deidentification.colour_profile import blank_profile
from wsi.slide.deidentification.jpeg_comments import blank_comments
from wsi.slide.deidentification.overwrites import PADDING, Overwrite, compute_gaps, merge_ranges, sort_overwrites
from wsi.slide.deidentification.refusing import make_deidentification_error
from wsi.slide.deidentification.tiff_directory import DirectoryWriter, NewEntry
from wsi.slide.deidentification.tiff_values import check_places, holds_numbers
from wsi.slide.ranges import ByteRange
from wsi.slide.tiff import Directory, TagEntry, Tiff

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
_LISTS: Final = frozenset({tiff.TILE_OFFSETS, tiff.TILE_BYTE_COUNTS, tiff.STRIP_OFFSETS, tiff.STRIP_BYTE_COUNTS})
_LONGEST_PROFILE: Final = 32 * 1024**2  #: bytes of a colour profile that stays
MAKE: Final = 271
_REPLACED: Final = frozenset({tiff.ICC_PROFILE, tiff.JPEG_TABLES})  #: tags that stay without their words
_TEXT: Final = 2  #: type ASCII
_WORDS: Final = frozenset({1, _TEXT, 6, 7})  #: types of bytes, which may be letters
_OLD_JPEG: Final = 6


@dataclass(frozen=True, slots=True)
class KeptPage:
    directory: Directory
    text: bytes | None = None  #: its new description; None: it has none any more
    lost: int = 0  #: values that the new description lacks
    spare: TagEntry | None = None  #: of a removed page, whose place the text may take
    more: frozenset[int] = frozenset()  #: tags of numbers of the format that stay in addition to `PIXEL_TAGS`
    lists: frozenset[int] = frozenset()  #: and those that list places in the image
    make: bytes | None = None  #: the maker, by which readers know the format; None: it goes
    below: tuple[KeptPage, ...] = ()  #: smaller images below it (SubIFDs)


@dataclass(frozen=True, slots=True)
class _Gathered:
    """The changes to the file's bytes, collected page by page."""

    size: int  #: bytes of the file
    starts: list[NDArray[np.int64]] = field(default_factory=list[NDArray[np.int64]])  #: of what stays as it is
    ends: list[NDArray[np.int64]] = field(default_factory=list[NDArray[np.int64]])
    written: list[Overwrite] = field(default_factory=list[Overwrite])
    gone: list[ByteRange] = field(default_factory=list[ByteRange])  #: what must not be there afterwards: words, pixels

    def keep(self, starts: Iterable[int] | NDArray[np.int64], ends: Iterable[int] | NDArray[np.int64]) -> None:
        self.starts.append(np.asarray(starts, np.int64))
        self.ends.append(np.asarray(ends, np.int64))

    def write(self, place: ByteRange, data: bytes) -> None:
        self.written.append(Overwrite(place, data))

    def overwrites(self) -> tuple[Overwrite, ...]:
        """Return what is written, and zeros over all that does not stay. Raises SlideRejected where bytes that change
        belong to what stays as well."""
        starts, ends = self._staying()
        for place in (*self.gone, *(one.place for one in self.written)):
            if np.any((starts < place.end) & (ends > place.start)):
                raise make_deidentification_error("What goes from the file shares its bytes with what stays")
        self.keep(*zip(*((one.place.start, one.place.end) for one in self.written), strict=True))
        short = [place for place in self.gone if place.size < PADDING]
        zeros = [
            Overwrite(gap)
            for gap in compute_gaps(*self._staying(), self.size)
            if gap.size >= PADDING or any(place.start < gap.end and gap.start < place.end for place in short)
        ]
        try:
            return sort_overwrites((*self.written, *zeros))
        except ValueError:
            raise make_deidentification_error("Two of the file's pictures share their tags") from None

    def _staying(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return merge_ranges(np.concatenate(self.starts), np.concatenate(self.ends))


def clean_pages(file: Tiff, pages: Sequence[KeptPage], size: int) -> tuple[tuple[Overwrite, ...], Removed]:
    """Return the overwrites of a TIFF and what they remove. `pages` are the pages of the file's chain that stay, in the
    file's order. Raises SlideRejected."""
    writer, gathered = DirectoryWriter(file.layout), _Gathered(size)
    first, *following = (page.directory.place.start for page in pages)
    header = ByteRange(file.layout.header, file.layout.header + writer.word_size)
    gathered.keep([0], [header.start])
    gathered.write(header, writer.encode_offset(first))
    tags = sum(_gather(writer, page, place, gathered) for page, place in zip(pages, [*following, 0], strict=True))
    staying = {page.directory.place for page in pages}
    others = [directory for directory in file.directories if directory.place not in staying]
    for directory in others:
        gathered.gone.extend(_words(writer, directory, directory.entries.keys() - PIXEL_TAGS))
        gathered.gone.extend(_pixels(directory, size))
    pictures = len(others) + sum(map(_count_dropped_below, pages))
    return gathered.overwrites(), Removed(images=pictures, tags=tags)


def _gather(writer: DirectoryWriter, page: KeptPage, following: int, gathered: _Gathered) -> int:
    """Collect the changes of the page and of those below it. Return how many values they lose."""
    directory = page.directory
    if directory.read_integer(tiff.COMPRESSION, 1) == _OLD_JPEG:
        raise make_deidentification_error("The file's tiles are packed as old JPEG, whose tables lie anywhere")
    tiled = tiff.TILE_WIDTH in directory
    check_places(directory, gathered.size)
    lists = page.lists | _LISTS
    names = (PIXEL_TAGS | page.more | page.lists | (_TILES if tiled else _STRIPS)) - _REPLACED
    replaced = dict(_list_replacements(writer, page))
    entries = {
        tag: _standing(writer, directory, tag, gathered)
        for tag in directory.entries
        if tag in names and tag not in replaced and (tag in lists or holds_numbers(directory, tag))
    }
    for tag, (kind, count, data) in replaced.items():
        places = [place for place in (directory.entries.get(tag), page.spare) if place is not None]
        entries[tag] = _place_value(writer, places, (kind, count, data), gathered)
    if len(entries) > writer.count_fitting_tags(directory):
        raise make_deidentification_error("The file's first page has no room for the description of the slide")
    dropped = directory.entries.keys() - entries.keys()
    gathered.gone.extend(_words(writer, directory, dropped | replaced.keys()))
    gathered.write(directory.place, writer.encode(directory, entries, following))
    gathered.keep(*locate_pixels(directory, gathered.size))
    below = sum(_gather(writer, smaller, 0, gathered) for smaller in page.below)
    return len(dropped - _UNCOUNTED) + page.lost + below


def _standing(writer: DirectoryWriter, directory: Directory, tag: int, gathered: _Gathered) -> NewEntry:
    entry = directory.entries[tag]
    size = tiff.compute_size(entry.type, entry.count)
    if size > writer.width:
        gathered.keep([entry.offset], [entry.offset + size])
    return writer.copy_entry(directory, tag)


_Value = tuple[int, int, bytes]  #: type, count, data


def _place_value(writer: DirectoryWriter, places: Sequence[TagEntry], value: _Value, gathered: _Gathered) -> NewEntry:
    """Write a value into the entry, or over the first of `places` that it fits into. Return the entry. Raises
    SlideRejected."""
    kind, count, data = value
    if len(data) <= writer.width:
        return writer.make_inline_entry(kind, count, data)
    for place in places:
        size = tiff.compute_size(place.type, place.count)
        if size >= len(data):
            gathered.write(ByteRange(place.offset, place.offset + size), data.ljust(size, b"\0"))
            return writer.make_offset_entry(kind, count, place.offset)
    raise make_deidentification_error("The file's description is too short to hold what readers need")


def _list_replacements(writer: DirectoryWriter, page: KeptPage) -> Iterator[tuple[int, _Value]]:
    """Yield the tags whose values change, with their new values."""
    directory = page.directory
    if page.text is not None:
        yield tiff.IMAGE_DESCRIPTION, (_TEXT, len(page.text) + 1, page.text + b"\0")
    if page.below:
        kind = directory.entries[tiff.SUB_DIRECTORIES].type
        width = tiff.compute_size(kind, 1)
        data = b"".join(writer.encode_number(smaller.directory.place.start, width) for smaller in page.below)
        yield tiff.SUB_DIRECTORIES, (kind, len(page.below), data)
    if page.make is not None:
        yield MAKE, (_TEXT, len(page.make) + 1, page.make + b"\0")
    profile = directory.read_data(tiff.ICC_PROFILE, _LONGEST_PROFILE)
    blanked = None if profile is None else blank_profile(profile)
    if blanked is not None:
        entry = directory.entries[tiff.ICC_PROFILE]
        yield tiff.ICC_PROFILE, (entry.type, entry.count, blanked)
    tables = directory.read_data(tiff.JPEG_TABLES)
    if tables is not None:
        entry = directory.entries[tiff.JPEG_TABLES]
        yield tiff.JPEG_TABLES, (entry.type, entry.count, _bare_tables(tables))


def _bare_tables(tables: bytes) -> bytes:
    try:
        return blank_comments(tables)
    except TileUnreadable as error:
        raise tiff.make_damaged_error("The JPEG tables that the file's tiles share are damaged.") from error


def _words(writer: DirectoryWriter, directory: Directory, tags: Iterable[int]) -> Iterator[ByteRange]:
    """Yield the places of values outside of the directory that may be text."""
    for entry in (directory.entries[tag] for tag in tags if tag in directory.entries):
        size = tiff.compute_size(entry.type, entry.count)
        if entry.type in _WORDS and size > writer.width:
            yield ByteRange(entry.offset, entry.offset + size)


def locate_pixels(directory: Directory, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the page's tiles or strips begin and end, without those whose bytes no reader would request: such a
    place can claim anything, the label too."""
    tiled = tiff.TILE_WIDTH in directory
    tags = (tiff.TILE_OFFSETS, tiff.TILE_BYTE_COUNTS) if tiled else (tiff.STRIP_OFFSETS, tiff.STRIP_BYTE_COUNTS)
    starts, sizes = (directory.read_integers(tag) for tag in tags)
    if starts is None or sizes is None or len(starts) != len(sizes):
        raise tiff.make_damaged_error("A picture of the file does not say where its pixels lie.")
    width, height = (directory.read_integer(tag, 0) for tag in (tiff.IMAGE_WIDTH, tiff.IMAGE_LENGTH))
    if tiled:
        width, height = (directory.read_integer(tag, 0) for tag in (tiff.TILE_WIDTH, tiff.TILE_LENGTH))
    else:
        height = min(height, directory.read_integer(tiff.ROWS_PER_STRIP, height))
    asked = (sizes > 0) & (starts > 0) & (starts <= size - sizes) & (sizes <= 12 * width * height + 65_536)
    return starts[asked], starts[asked] + sizes[asked]


def _pixels(directory: Directory, size: int) -> Iterator[ByteRange]:
    """Yield the places of a removed image's pixels, as far as it states them."""
    if not {tiff.TILE_OFFSETS, tiff.STRIP_OFFSETS} & directory.entries.keys():
        return
    starts, ends = locate_pixels(directory, size)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        yield ByteRange(start, end)


def _count_dropped_below(page: KeptPage) -> int:
    hanging = page.directory.read_integers(tiff.SUB_DIRECTORIES)
    return (0 if hanging is None else len(hanging)) - len(page.below) + sum(map(_count_dropped_below, page.below))
