"""Directories of classic TIFF, of BigTIFF and of Hamamatsu's NDPI, in both byte orders, read by windows.

Source: TIFF 6.0 (Adobe 1992), BigTIFF (bigtiff.org). NDPI stretches classic TIFF beyond 4 GiB: offsets of directories
take 8 bytes, and each directory is followed by the upper 32 bits of the values of all its tags. No number of the file
sizes an allocation or a loop before it was checked against the file's size or a limit here.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from wsi.errors import RejectReason, SlideRejected
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.windows import Windows

#: Pages, and images below one page; the largest pyramid seen has 12 levels; a file with 300 z-planes still passes
MAX_DIRECTORIES = 1_000
MAX_ENTRIES = 4_096  #: tags in a directory
MAX_TAGS = 100_000  #: tags in all directories; a file with 300 z-planes has about 9,000
MAX_TEXT = 4 * 1024**2  #: bytes
MAX_DESCRIPTION = 64 * 1024**2  #: bytes of the first page's OME-XML: 60 MB are known (bioformats PR 3418)
MAX_ARRAY = 128 * 1024**2  #: bytes; 16 million tiles at 8 bytes an offset

NEW_SUBFILE_TYPE: Final = 254
IMAGE_WIDTH: Final = 256
IMAGE_LENGTH: Final = 257
BITS_PER_SAMPLE: Final = 258
COMPRESSION: Final = 259
PHOTOMETRIC: Final = 262
FILL_ORDER: Final = 266
STRIP_OFFSETS: Final = 273
IMAGE_DESCRIPTION: Final = 270
ORIENTATION: Final = 274
SAMPLES_PER_PIXEL: Final = 277
ROWS_PER_STRIP: Final = 278
STRIP_BYTE_COUNTS: Final = 279
MAKE: Final = 271
MODEL: Final = 272
X_RESOLUTION: Final = 282
Y_RESOLUTION: Final = 283
PLANAR_CONFIGURATION: Final = 284
PAGE_NAME: Final = 285
RESOLUTION_UNIT: Final = 296
SOFTWARE: Final = 305
PREDICTOR: Final = 317
TILE_WIDTH: Final = 322
TILE_LENGTH: Final = 323
TILE_OFFSETS: Final = 324
TILE_BYTE_COUNTS: Final = 325
SUB_DIRECTORIES: Final = 330
EXTRA_SAMPLES: Final = 338
SAMPLE_FORMAT: Final = 339
JPEG_TABLES: Final = 347
JPEG_PROC: Final = 512
JPEG_INTERCHANGE_FORMAT: Final = 513
JPEG_RESTART_INTERVAL: Final = 515
JPEG_Q_TABLES: Final = 519
JPEG_DC_TABLES: Final = 520
JPEG_AC_TABLES: Final = 521
YCBCR_COEFFICIENTS: Final = 529
YCBCR_SUBSAMPLING: Final = 530
YCBCR_POSITIONING: Final = 531
REFERENCE_BLACK_WHITE: Final = 532
XMP: Final = 700
IMAGE_DEPTH: Final = 32997
ICC_PROFILE: Final = 34675
LERC_PARAMETERS: Final = 50674
NDPI_VERSION: Final = 65420  #: Hamamatsu's first private tag: the file is an NDPI

# Type number -> numpy code. ASCII (2) and UNDEFINED (7) are bytes; the rationals (5, 10) are pairs.
_TYPES: Final = {
    1: "u1", 2: "u1", 3: "u2", 4: "u4", 5: "2u4", 6: "i1", 7: "u1", 8: "i2", 9: "i4", 10: "2i4",
    11: "f4", 12: "f8", 13: "u4", 16: "u8", 17: "i8", 18: "u8",
}  # fmt: skip
_INTEGERS: Final = frozenset({1, 3, 4, 13, 16, 18})
_RATIONALS: Final = frozenset({5, 10})
_ASCII, _LONG, _UNDEFINED = 2, 4, 7


_DANGLING: Final = (
    "The file names an image that would lie past its end: the upload or copy was cut short, or the program that wrote "
    "the file left a wrong entry (raw2ometiff's --legacy did). Copy or export it again."
)


def compute_size(kind: int, count: int) -> int:
    """Return the size in bytes of the given number of values of a type."""
    return np.dtype(_TYPES[kind]).itemsize * count


def make_damaged_error(sentence: str) -> SlideRejected:
    return SlideRejected(RejectReason.DAMAGED, sentence)


@dataclass(frozen=True, slots=True)
class TagEntry:
    type: int
    count: int
    offset: int  #: of the value in the file, also when it is inside the entry
    upper: int = 0  #: bits 32 to 63 of a whole number inside an entry of an NDPI


class Directory:
    """One image of the file. Values are read when they are requested. Raises SlideRejected DAMAGED or TRUNCATED."""

    def __init__(self, layout: Layout, entries: dict[int, TagEntry], place: ByteRange) -> None:
        self._layout = layout
        self._windows = layout.windows
        self._entries = entries
        self.place: Final = place  #: with the number of its tags and the offset of the next one

    def __contains__(self, tag: int) -> bool:
        return tag in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> Mapping[int, TagEntry]:
        return self._entries

    def read_integers(self, tag: int) -> NDArray[np.int64] | None:
        """Return the tag's values, or None when it is absent."""
        entry = self._entries.get(tag)
        if entry is None:
            return None
        if entry.type not in _INTEGERS:
            raise make_damaged_error(f"Tag {tag} of the file has type {entry.type} where a whole number belongs.")
        values = self._array(tag, entry, MAX_ARRAY)
        if values.dtype.itemsize == 8 and values.size and int(values.max()) > np.iinfo(np.int64).max:
            raise make_damaged_error(f"Tag {tag} of the file holds a number that no file can reach.")
        if entry.upper >= 2**31:
            raise make_damaged_error(f"Tag {tag} of the file holds a number that no file can reach.")
        return values.astype(np.int64) if not entry.upper else values.astype(np.int64) + (entry.upper << 32)

    def read_integer(self, tag: int, default: int) -> int:
        """Return the tag's first value, or `default` when it is absent or empty."""
        values = self.read_integers(tag)
        return default if values is None or not values.size else int(values[0])

    def read_number(self, tag: int) -> float | None:
        """Return the tag's first value when it is a whole number, signed or not, or a float; else None."""
        entry = self._entries.get(tag)
        if entry is None or entry.type in (_ASCII, _UNDEFINED, *_RATIONALS) or entry.count < 1:
            return None
        return float(self._array(tag, entry, MAX_ARRAY)[0])

    def read_ratio(self, tag: int) -> float | None:
        """Return the tag's first value as a number, whatever numeric type it has; None when it is absent, a text, or a
        rational over zero. TIFF 6.0 wants rationals for resolutions; writers use all types, and libtiff reads them."""
        entry = self._entries.get(tag)
        if entry is None or entry.type not in _RATIONALS:
            return self.read_number(tag)
        if entry.count < 1:
            return None
        numerator, denominator = (int(part) for part in self._array(tag, entry, MAX_TEXT)[0])
        return numerator / denominator if denominator else None

    def read_numbers(self, tag: int) -> list[float]:
        """Return all rationals or whole numbers of the tag; none when absent, of another type, or one is over zero."""
        entry = self._entries.get(tag)
        if entry is None or entry.type not in (5, *_INTEGERS):
            return []
        values: list[Any] = self._array(tag, entry, MAX_TEXT).tolist()
        pairs = values if entry.type == 5 else [(value, 1) for value in values]
        return [above / below for above, below in pairs] if all(below for _, below in pairs) else []

    def read_at(self, offset: int, size: int) -> bytes:
        """Return the bytes at `offset`, for tags that point at something other than an array."""
        return self._windows.read(offset, size)

    def read_data(self, tag: int, most: int = MAX_TEXT) -> bytes | None:
        entry = self._entries.get(tag)
        return None if entry is None else self._array(tag, entry, most).tobytes()

    def read_text(self, tag: int, most: int = MAX_TEXT) -> str:
        """Return the text up to the first NUL; empty when absent. Raises SlideRejected DAMAGED for more than `most`
        bytes."""
        return (self.read_data(tag, most) or b"").split(b"\0", 1)[0].decode("utf-8", errors="replace")

    def read_note(self, tag: int, most: int) -> str:
        """Return the first `most` bytes of a text that the file can do without: NULs become line ends, what is no UTF-8
        is Latin-1. It is empty when the tag is absent or lies past the file's end."""
        entry = self._entries.get(tag)
        if entry is None:
            return ""
        size = compute_size(entry.type, entry.count)
        if entry.offset + size > self._windows.size:
            return ""
        data = self._windows.read(entry.offset, min(size, most)).replace(b"\0", b"\n")
        try:
            return codecs.getincrementaldecoder("utf-8")().decode(data)  # A character that `most` cuts is left out.
        except UnicodeDecodeError:
            return data.decode("latin-1")

    def read_sub_directories(self) -> tuple[Directory, ...]:
        """Return the images below this one (SubIFDs), in the file's order, without any that are below those."""
        offsets = self.read_integers(SUB_DIRECTORIES)
        if offsets is None:
            return ()
        if len(offsets) > MAX_DIRECTORIES:
            raise make_damaged_error(f"A picture of the file holds more than {MAX_DIRECTORIES} smaller ones.")
        ends = np.minimum(offsets + self._windows.window, self._windows.size).tolist()
        self._windows.prefetch([ByteRange(*place) for place in zip(offsets.tolist(), ends, strict=True)])
        return tuple(self._layout.read_directory(offset)[0] for offset in offsets.tolist())

    def prefetch(self, others: Sequence[Directory], tags: Sequence[int]) -> None:
        """Read `tags` of this directory and of `others` of the same file with as few requests as they lie apart."""
        entries = (directory._entries.get(tag) for directory in (self, *others) for tag in tags)
        places = (
            ByteRange(entry.offset, entry.offset + compute_size(entry.type, entry.count))
            for entry in entries
            if entry is not None
        )
        self._windows.prefetch([place for place in places if place.size <= MAX_ARRAY])

    def _array(self, tag: int, entry: TagEntry, limit: int) -> NDArray[np.generic]:
        kind = np.dtype(_TYPES[entry.type]).newbyteorder(self._layout.order)
        size = kind.itemsize * entry.count
        if size > limit:
            raise make_damaged_error(f"Tag {tag} of the file claims {size:,} bytes.")
        return np.frombuffer(self._windows.read(entry.offset, size), kind)


@dataclass(frozen=True, slots=True)
class Tiff:
    layout: Layout
    directories: tuple[Directory, ...]  #: in the file's order

    @property
    def big(self) -> bool:
        return self.layout.big

    @property
    def ndpi(self) -> bool:
        return self.layout.ndpi


def is_tiff(head: bytes) -> bool:
    return head[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


def parse(source: RangeSource) -> Tiff:
    """Parse the directories of a TIFF. Raises SlideRejected: NOT_A_SLIDE without a TIFF header, TRUNCATED, DAMAGED."""
    windows = Windows(source)
    head = windows.read(0, min(16, windows.size))
    if not is_tiff(head) or len(head) < 8:
        raise SlideRejected(RejectReason.NOT_A_SLIDE, "The file is not a TIFF.")
    order: Literal["<", ">"] = "<" if head[:2] == b"II" else ">"
    layout = Layout(windows, order, big=b"+" in head[2:4])
    layout = layout.as_ndpi() or layout
    if layout.big and layout.read_number(4, 4) != (8 if order == "<" else 8 << 16):
        raise make_damaged_error("The file's BigTIFF header is not one.")
    offset = layout.read_offset(layout.header)
    seen: set[int] = set()
    directories: list[Directory] = []
    tags = 0
    while offset:
        if offset in seen:
            raise make_damaged_error("The file's directories point back at each other.")
        if len(directories) == MAX_DIRECTORIES:
            raise make_damaged_error(f"The file holds more than {MAX_DIRECTORIES} directories.")
        if directories and not 0 < offset < windows.size:
            raise SlideRejected(RejectReason.TRUNCATED, _DANGLING)
        seen.add(offset)
        directory, offset = layout.read_directory(offset)
        directories.append(directory)
        tags += len(directory)
        if tags > MAX_TAGS:
            raise make_damaged_error(f"The file's directories hold more than {MAX_TAGS:,} tags.")
    if not directories:
        raise make_damaged_error("The file holds no image.")
    return Tiff(layout, tuple(directories))


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of numbers and directories in the three kinds of TIFF."""

    windows: Windows
    order: Literal["<", ">"]
    big: bool
    ndpi: bool = False

    @property
    def header(self) -> int:
        """The place of the offset of the first directory."""
        return 8 if self.big else 4

    @property
    def wide(self) -> bool:
        """True if offsets of directories take 8 bytes."""
        return self.big or self.ndpi

    def read_number(self, offset: int, size: int) -> int:
        return int.from_bytes(self.windows.read(offset, size), "little" if self.order == "<" else "big")

    def read_offset(self, offset: int) -> int:
        """Read the offset of a directory, which is stored at `offset`."""
        return self.read_number(offset, 8 if self.wide else 4)

    def as_ndpi(self) -> Layout | None:
        """Return the layout of an NDPI if the file is one, else None: the header looks the same, the first directory
        tells."""
        if self.big or self.order != "<" or self.windows.size < 12:
            return None
        ndpi = replace(self, ndpi=True)
        try:
            directory, _ = ndpi.read_directory(ndpi.read_offset(4))
        except SlideRejected:
            return None
        return ndpi if NDPI_VERSION in directory else None

    def read_directory(self, offset: int) -> tuple[Directory, int]:
        """Return the directory at `offset` and the offset of the next one, 0 at the end."""
        counter, stride, word = (8, 20, 8) if self.big else (2, 12, 4)
        count = self.read_number(offset, counter)
        if not 0 < count <= MAX_ENTRIES:
            raise make_damaged_error(f"A directory of the file claims {count:,} tags.")
        start, size = offset + counter, count * stride
        # NDPI: 8 bytes for the next directory, then the upper half of each tag's value or offset.
        behind = 8 + 4 * count if self.ndpi else word
        block = self.windows.read(start, size + behind)
        uppers = struct.unpack_from(f"<{count}I", block, size + 8) if self.ndpi else (0,) * count
        fields = struct.Struct(f"{self.order}HH{'QQ' if self.big else 'II'}")
        entries: dict[int, TagEntry] = {}
        for place, (tag, kind, values, value) in enumerate(fields.iter_unpack(block[:size])):
            if kind not in _TYPES:
                continue  # TIFF 6.0, section 2: readers skip fields of unknown type.
            if compute_size(kind, values) <= word:
                upper = uppers[place] if kind == _LONG and values == 1 else 0
                entry = TagEntry(kind, values, start + place * stride + 4 + word, upper)
            else:
                entry = TagEntry(kind, values, value + (uppers[place] << 32))
            entries.setdefault(tag, entry)
        return Directory(self, entries, ByteRange(offset, start + size + behind)), self.read_offset(start + size)
