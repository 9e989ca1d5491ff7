"""De-identification of one DICOM file of a slide: each value that does not stay is overwritten by a blank one of the
same length.

Elements are walked one after another, without keeping any (as in `wsi.slide.dicom.elements`, which does not go into
sequences of known length). Little endian, with or without value representations. Source: PS3.5, section 7.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydicom.datadict import dictionary_VR

from wsi.records.slides import Removed
from wsi.slide.deidentification.dicom_tags import BURNED_IN, IDENTITY_REMOVED, LABEL_IN_IMAGE, opens, stays
from wsi.slide.deidentification.dicom_values import blank, replace_uids, says_nothing
from wsi.slide.deidentification.overwrites import Overwrite, compute_gaps, merge_ranges, sort_overwrites
from wsi.slide.deidentification.refusing import make_deidentification_error
from wsi.slide.dicom.buffered_range_reader import BufferedRangeReader, make_truncated_error
from wsi.slide.dicom.elements import ITEM, ITEM_END, LENGTHS, OFFSETS, PIXELS, SEQUENCE_END, UNDEFINED
from wsi.slide.dicom.frames import Frames
from wsi.slide.ranges import ByteRange
from wsi.slide.tiff import make_damaged_error

_PREAMBLE: Final = 128  #: bytes, in which a file may be a TIFF at the same time
_DATA: Final = 132
_LONG: Final = frozenset({"OB", "OD", "OF", "OL", "OV", "OW", "SQ", "SV", "UC", "UN", "UR", "UT", "UV"})
_READ: Final = 65_536  #: bytes of a value that is inspected; longer ones are blanked unseen
_DEEPEST: Final = 16
_MOST_ELEMENTS: Final = 10_000_000  #: as many as `elements` walks to find the frames
_MOST_OVERWRITES: Final = 1_000_000  #: about 200 MB


@dataclass(frozen=True, slots=True)
class _Field:
    tag: int
    vr: str
    start: int  #: of its value
    length: int  #: bytes, or UNDEFINED


@dataclass(slots=True)
class _FileCleaner:
    reader: BufferedRangeReader
    salt: bytes
    frames: Frames  #: all that the file's pixels hold, whatever was chosen
    overwrites: list[Overwrite] = field(default_factory=list[Overwrite])
    elements: int = 0
    blanked: int = 0

    def file(self, *, implicit: bool) -> None:
        if not says_nothing(self.reader.read(0, _PREAMBLE)):
            self.write(0, _PREAMBLE, None)
        at = _DATA
        while at + 8 <= self.reader.size and self.group(at) == 2:
            at = self.element(at, implicit=False, open=True, depth=0)
        while at + 8 <= self.reader.size:
            at = self.element(at, implicit=implicit, open=True, depth=0)
        if at < self.reader.size:
            self.write(at, self.reader.size - at, None)

    def group(self, at: int) -> int:
        return int.from_bytes(self.reader.read(at, 2), "little")

    def element(self, at: int, *, implicit: bool, open: bool, depth: int) -> int:
        """Clean the element at `at` and return where the next one starts. `open`: values may stay here."""
        found = self.head(at, implicit=implicit)
        self.elements += 1
        if self.elements > _MOST_ELEMENTS or len(self.overwrites) > _MOST_OVERWRITES:
            raise make_deidentification_error("The slide's DICOM files say more than can be looked through")
        if found.tag == PIXELS and depth == 0:
            return self.pixels(found)
        if found.length != UNDEFINED and found.start + found.length > self.reader.size:
            raise make_truncated_error()
        if found.vr == "SQ" or found.length == UNDEFINED:
            within = implicit or found.vr == "UN"  # of unknown representation and length: PS3.5, 6.2.2
            return self.sequence(found, implicit=within, open=open and opens(found.tag), depth=depth + 1)
        if found.length:
            self.value(found, open=open)
        return found.start + found.length

    def head(self, at: int, *, implicit: bool) -> _Field:
        head = self.reader.read(at, 8)
        tag = int.from_bytes(head[:2], "little") << 16 | int.from_bytes(head[2:4], "little")
        start = at + 8
        if implicit or tag >> 16 == 0xFFFE:
            vr, length = _find_vr(tag), int.from_bytes(head[4:], "little")
        else:
            vr, length = head[4:6].decode("latin-1"), int.from_bytes(head[6:], "little")
            if vr in _LONG:
                length = int.from_bytes(self.reader.read(start, 4), "little")
                start += 4
            elif length == 0xFFFF:  # no length of four bytes: the representation is none
                raise make_damaged_error("An element in the slide's DICOM files has no length.")
        return _Field(tag, vr, start, UNDEFINED if length == 0xFFFF_FFFF else length)

    def sequence(self, outer: _Field, *, implicit: bool, open: bool, depth: int) -> int:
        if depth > _DEEPEST:
            raise make_damaged_error("The slide's DICOM files hold sequences within sequences without end.")
        end = None if outer.length == UNDEFINED else outer.start + outer.length
        at = outer.start
        while end is None or at < end:
            item = self.head(at, implicit=True)
            at = item.start
            if item.tag == SEQUENCE_END and end is None:
                return at
            if item.tag != ITEM:
                raise make_damaged_error("A sequence in the slide's DICOM files holds something else than items.")
            if outer.vr in ("OB", "OW", "PX") or outer.tag & 0xFFFF_FFFF == PIXELS:  # packed pixels of an icon
                self.write(at, item.length, None)
                at += item.length
            else:
                at = self.item(item, implicit=implicit, open=open, depth=depth)
        if at > end:
            raise make_damaged_error("An element in the slide's DICOM files reaches past the one that holds it.")
        return at

    def item(self, item: _Field, *, implicit: bool, open: bool, depth: int) -> int:
        end = None if item.length == UNDEFINED else item.start + item.length
        at = item.start
        while end is None or at < end:
            if end is None and self.head(at, implicit=True).tag == ITEM_END:
                return at + 8
            at = self.element(at, implicit=implicit, open=open, depth=depth)
        if at > end:
            raise make_damaged_error("An element in the slide's DICOM files reaches past the one that holds it.")
        return at

    def pixels(self, found: _Field) -> int:
        """Blank everything in the pixels that is in no frame, and return where the pixels end."""
        starts, ends = merge_ranges(
            self.frames.offsets, self.frames.offsets + self.frames.sizes + self.frames.sizes % 2
        )
        if found.length != UNDEFINED:
            end = found.start + found.length
            if end > self.reader.size:
                raise make_truncated_error()
            self.blank_unused(found.start, starts, np.minimum(ends, end), end)
            return end
        table = self.head(found.start, implicit=True)
        base = table.start + table.length
        if table.length != 4 * self.frames.count:
            self.write(table.start, table.length, None)
        last = int(ends[-1])
        self.blank_unused(base, starts, ends, last)
        while (item := self.head(last, implicit=True)).tag == ITEM:
            self.write(item.start, item.length, None)
            last = item.start + item.length
        if item.tag != SEQUENCE_END:
            raise make_damaged_error("The pixels in a DICOM file of the slide end in something else than they should.")
        return item.start

    def blank_unused(self, start: int, starts: NDArray[np.int64], ends: NDArray[np.int64], end: int) -> None:
        """Blank the bytes between `start` and `end` that are in no frame, including the headers of items there."""
        if starts[0] < start:
            raise make_damaged_error("The frames in a DICOM file of the slide begin before its pixels.")
        for gap in compute_gaps(starts - start, ends - start, end - start):
            self.write(start + gap.start, gap.size, None)

    def value(self, found: _Field, *, open: bool) -> None:
        if found.tag in (BURNED_IN, LABEL_IN_IMAGE):
            self.refuse_shown(found)
        if found.vr == "UI":
            old = self.reader.read(found.start, found.length)
            self.replace(found, old, replace_uids(old, self.salt))
        elif found.tag == IDENTITY_REMOVED and found.length >= len("YES"):
            self.replace(found, b"", b"YES".ljust(found.length))
        elif not (open and self.stays(found)):
            new = blank(found.vr, found.length)
            old = self.reader.read(found.start, found.length) if found.length <= _READ else b"?"
            if not says_nothing(old):
                self.replace(found, old, new)

    def stays(self, found: _Field) -> bool:
        if found.tag in (OFFSETS, LENGTHS) and found.length != 8 * self.frames.count:
            return False
        return stays(found.tag, found.vr) and found.vr in _find_vr(found.tag)

    def refuse_shown(self, found: _Field) -> None:
        if self.reader.read(found.start, found.length).strip(b"\0 ").upper() == b"YES":
            raise make_deidentification_error("The slide says itself that a label or text is part of its pixels")

    def replace(self, found: _Field, old: bytes, new: bytes | None) -> None:
        if new != old:
            self.write(found.start, found.length, new)
            self.blanked += bool(old)

    def write(self, start: int, length: int, data: bytes | None) -> None:
        if length < 0 or start + length > self.reader.size:
            raise make_truncated_error()
        if length:
            self.overwrites.append(Overwrite(ByteRange(start, start + length), data))


def _find_vr(tag: int) -> str:
    """Return the value representation in the standard, such as "OB" or "OB or OW"; UN for an unknown element."""
    if tag >> 16 == 0xFFFE:
        return ""
    if tag & 0xFFFF == 0:  # the length of a group
        return "UL"
    try:
        return dictionary_VR(tag)
    except KeyError:
        return "UN"


def clean_dicom_file(
    reader: BufferedRangeReader, *, implicit: bool, salt: bytes, frames: Frames
) -> tuple[tuple[Overwrite, ...], Removed]:
    """Return the overwrites of a file of `SLIDE_CLASS` that holds a level, and what they remove. `implicit`: its
    elements state no value representations; `frames`: all that its pixels hold. Raises SlideRejected, SourceError."""
    walk = _FileCleaner(reader, salt, frames)
    walk.file(implicit=implicit)
    return sort_overwrites(walk.overwrites), Removed(tags=walk.blanked)
