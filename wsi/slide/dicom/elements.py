"""Data elements and items, one after another, without keeping any: a level has hundreds of thousands of them, which
pydicom would hold as objects. Little endian, with or without value representations. Source: PS3.5, section 7."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from wsi.slide.dicom.buffered_range_reader import BufferedRangeReader, make_truncated_error
from wsi.slide.tiff import make_damaged_error

ITEM: Final = 0xFFFE_E000
ITEM_END: Final = 0xFFFE_E00D
SEQUENCE_END: Final = 0xFFFE_E0DD
PER_FRAME_GROUPS: Final = 0x5200_9230
PIXEL_MEASURES: Final = 0x0028_9110
PIXEL_SPACING: Final = 0x0028_0030
PLANE_POSITION: Final = 0x0048_021A
COLUMN_POSITION: Final = 0x0048_021E
ROW_POSITION: Final = 0x0048_021F
Z_OFFSET: Final = 0x0040_074A
OPTICAL_PATH: Final = 0x0048_0207
OPTICAL_PATH_IDENTIFIER: Final = 0x0048_0106
OFFSETS: Final = 0x7FE0_0001
LENGTHS: Final = 0x7FE0_0002
PIXELS: Final = 0x7FE0_0010

UNDEFINED: Final = -1  #: length of what ends with a delimiter
_ENTERED: Final = frozenset({ITEM, PIXEL_MEASURES, PLANE_POSITION, OPTICAL_PATH})
_LONG: Final = frozenset({b"OB", b"OD", b"OF", b"OL", b"OV", b"OW", b"SQ", b"SV", b"UC", b"UN", b"UR", b"UT", b"UV"})
_MAX_DEPTH: Final = 16
_MAX_FRAGMENTS: Final = 4_000_000  #: of pixels that are jumped over, walked in about 10 s
_MAX_INSIDE: Final = 100_000  #: elements in one that describes no frames, walked in 0.3 s
_FRAME_ELEMENTS: Final = 64  #: that describe a frame; scanners write up to 25
_FRAME_BYTES: Final = 4_096  #: that describe a frame; scanners write 200 to 700
_MAX_DESCRIBING: Final = 10_000_000  #: elements; twenty for each of 500,000 frames, walked in about 20 s
_FEW_FRAMES: Final = 256  #: a file of fewer may say as much as these: private groups of a single frame hold kilobytes


@dataclass(frozen=True, slots=True)
class ElementLimit:
    """The limits on the content of one element."""

    elements: int = _MAX_INSIDE
    size: int | None = None  #: bytes
    item_elements: int = _MAX_INSIDE  #: of one of its items

    @staticmethod
    def of_frames(frames: int) -> ElementLimit:
        """Return the limits on the groups of `frames` frames."""
        counted = max(frames, _FEW_FRAMES)
        elements = min(_FRAME_ELEMENTS * counted, _MAX_DESCRIBING)
        return ElementLimit(elements, _FRAME_BYTES * counted, _FRAME_ELEMENTS * _FEW_FRAMES)

    def check(self, elements: int, item_elements: int, size: int) -> None:
        """Raise SlideRejected DAMAGED if a limit is exceeded."""
        long = self.size is not None and size > self.size
        if long or elements > self.elements or item_elements > self.item_elements:
            raise make_damaged_error("The slide's DICOM files say more of their frames than can be read.")


class Element(NamedTuple):
    tag: int
    start: int  #: of its value in the file
    length: int  #: bytes, or UNDEFINED
    vr: bytes = b""  #: value representation; empty where the file states none

    def is_implicit_within(self, *, implicit: bool) -> bool:
        """Return whether the elements inside this one state no value representation. An element of unknown
        representation (UN) holds a sequence as an implicit file would. Source: PS3.5, 6.2.2."""
        return implicit or self.vr == b"UN"


def read_element(reader: BufferedRangeReader, at: int, *, implicit: bool) -> Element:
    """Read the head of the element at `at`. Raises SlideRejected TRUNCATED."""
    head = reader.read(at, 8)
    tag = int.from_bytes(head[:2], "little") << 16 | int.from_bytes(head[2:4], "little")
    start = at + 8
    if implicit or tag >> 16 == 0xFFFE:
        length = int.from_bytes(head[4:], "little")
        return Element(tag, start, UNDEFINED if length == 0xFFFF_FFFF else length)
    if head[4:6] in _LONG:
        length = int.from_bytes(reader.read(start, 4), "little")
        return Element(tag, start + 4, UNDEFINED if length == 0xFFFF_FFFF else length, head[4:6])
    return Element(tag, start, int.from_bytes(head[6:], "little"), head[4:6])


def walk_elements(
    reader: BufferedRangeReader, outer: Element, limit: ElementLimit, *, implicit: bool
) -> Iterator[tuple[int, Element]]:
    """Yield (depth, element) of what `outer` holds, in the file's order: its items, what they hold, and the delimiters.
    Fragments of encapsulated pixels are skipped. Sequences of known length are entered only when they say where a frame
    lies. The last one yielded ends `outer` when its length is undefined. An `outer` that states itself that it is
    larger than `limit` is refused before it is read. Raises SlideRejected DAMAGED, TRUNCATED."""
    at = outer.start
    levels = [_Level.of(outer, implicit=implicit)]
    count = of_item = fragments = 0
    limit.check(count, of_item, outer.length)
    if outer.start + outer.length > reader.size:
        raise make_truncated_error()
    while levels:
        end, within, of_fragments = levels[-1]
        if end is not None and at >= end:
            if at > end:
                raise make_damaged_error("An element in the slide's DICOM files reaches past the one that holds it.")
            levels.pop()
            continue
        inner = read_element(reader, at, implicit=within)
        at = inner.start
        if of_fragments and inner.tag == ITEM:
            at += max(inner.length, 0)
            fragments += 1
            if fragments > _MAX_FRAGMENTS:
                raise make_damaged_error("The slide's DICOM files hold more beside its pixels than can be read.")
            continue
        yield len(levels), inner
        count += 1
        of_item = 0 if len(levels) == 1 else of_item + 1
        limit.check(count, of_item, inner.start - outer.start)
        if inner.tag in (ITEM_END, SEQUENCE_END):
            if end is not None:
                raise make_damaged_error("A delimiter in the slide's DICOM files ends nothing.")
            levels.pop()
        elif inner.tag in _ENTERED or inner.length == UNDEFINED:
            if len(levels) == _MAX_DEPTH:
                raise make_damaged_error("The slide's DICOM files hold sequences within sequences without end.")
            levels.append(_Level.of(inner, implicit=within))
        else:
            at += inner.length


def find_end(reader: BufferedRangeReader, outer: Element, limit: ElementLimit, *, implicit: bool) -> int:
    """Return where the element after `outer` starts."""
    if outer.length != UNDEFINED:
        return outer.start + outer.length
    end = outer.start
    for _, inner in walk_elements(reader, outer, limit, implicit=implicit):
        end = inner.start
    return end


class _Level(NamedTuple):
    """An element whose inside is being walked."""

    end: int | None  #: None where a delimiter ends it
    implicit: bool  #: its elements state no value representations
    of_fragments: bool  #: its items hold encapsulated pixels and no elements, as those of an icon or a hidden pyramid

    @staticmethod
    def of(outer: Element, *, implicit: bool) -> _Level:
        packed = outer.length == UNDEFINED and (outer.vr in (b"OB", b"OW") or outer.tag == PIXELS)
        end = None if outer.length == UNDEFINED else outer.start + outer.length
        return _Level(end, outer.is_implicit_within(implicit=implicit), packed)
