"""The wanted values of a DICOM header, found by walking over its elements. All other values are skipped, however large:
colour profiles of 13 MB and more are real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from wsi.slide.dicom.buffered_range_reader import BufferedRangeReader, make_truncated_error
from wsi.slide.dicom.elements import (
    ITEM,
    ITEM_END,
    SEQUENCE_END,
    UNDEFINED,
    Element,
    ElementLimit,
    find_end,
    read_element,
)
from wsi.slide.tiff import make_damaged_error

#: Tags of wanted values, and of sequences with what is wanted of each of their items.
Wanted = Mapping[int, "Wanted | None"]

_MAX_VALUE: Final = 1_024  #: bytes of a value; longer ones are cut off, as no wanted one is longer
_MAX_ELEMENTS: Final = 100_000  #: headers have some hundreds
_MAX_ITEMS: Final = 1_000  #: of wanted sequences
_MAX_FETCHED: Final = 32 * 1024**2  #: bytes; a jump costs 64 KiB


@dataclass(slots=True)
class Fields:
    values: dict[int, bytes] = field(default_factory=dict[int, bytes])
    sequences: dict[int, list[Fields]] = field(default_factory=dict[int, "list[Fields]"])

    def get_text(self, tag: int) -> str:
        """Return the value as text; empty where there is none."""
        return decode_text(self.values.get(tag, b""))

    def get_texts(self, tag: int) -> Sequence[str]:
        """Return the values of an element that holds several."""
        return [value.strip() for value in self.get_text(tag).split("\\")]

    def parse_integer(self, tag: int) -> int | None:
        """Return a binary number (US, UL); None where there is none. Raises SlideRejected DAMAGED."""
        value = self.values.get(tag, b"")
        if len(value) not in (0, 2, 4):
            raise _make_header_error()
        return int.from_bytes(value, "little") if value else None

    def parse_decimal(self, tag: int) -> int | None:
        """Return a number that is stored as text (IS); None where there is none. Raises SlideRejected DAMAGED."""
        try:
            return int(text) if (text := self.get_text(tag)) else None
        except ValueError:
            raise _make_header_error() from None

    def get_items(self, tag: int) -> Sequence[Fields]:
        return self.sequences.get(tag, [])


def decode_text(value: bytes) -> str:
    """Return a value as text without its padding."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    return text.strip(" \0")


def read_fields(
    reader: BufferedRangeReader, at: int, wanted: Wanted, *, implicit: bool, until: int
) -> tuple[Fields, int]:
    """Return the wanted values from `at` on, and where the first element starts whose tag is `until` or a later one
    (the file's end where there is none). Raises SlideRejected DAMAGED, TRUNCATED; SourceError."""
    if at > reader.size:
        raise make_truncated_error()
    return _FieldReader(reader, until).fields(Element(0, at, reader.size - at), wanted, implicit=implicit, top=True)


def read_items(reader: BufferedRangeReader, outer: Element, wanted: Wanted, *, implicit: bool) -> Sequence[Fields]:
    """Return the wanted values of each item of the sequence `outer`. Raises SlideRejected DAMAGED, TRUNCATED;
    SourceError."""
    return _FieldReader(reader, until=0).sequence(outer, wanted, implicit=implicit)[0]


@dataclass(slots=True)
class _FieldReader:
    reader: BufferedRangeReader
    until: int
    elements: int = 0
    items: int = 0

    def fields(self, outer: Element, wanted: Wanted, *, implicit: bool, top: bool = False) -> tuple[Fields, int]:
        """Return the wanted values in `outer`, the data set or an item, and where the next element starts."""
        found, at = Fields(), outer.start
        while outer.length == UNDEFINED or at < outer.start + outer.length:
            one = self.element(at, implicit=implicit)
            if top and one.tag >= self.until:
                return found, at
            if one.tag == ITEM_END and outer.length == UNDEFINED:
                return found, one.start
            below = wanted.get(one.tag)
            if below is not None:
                found.sequences[one.tag], at = self.sequence(one, below, implicit=implicit)
            elif one.tag in wanted:
                found.values[one.tag] = self.reader.read(one.start, min(max(one.length, 0), _MAX_VALUE))
                at = find_end(self.reader, one, ElementLimit(), implicit=implicit)
            else:
                at = find_end(self.reader, one, ElementLimit(), implicit=implicit)
        return found, _check_end(outer, at)

    def sequence(self, outer: Element, wanted: Wanted, *, implicit: bool) -> tuple[list[Fields], int]:
        found, at = list[Fields](), outer.start
        implicit = outer.is_implicit_within(implicit=implicit)
        while outer.length == UNDEFINED or at < outer.start + outer.length:
            item = self.element(at, implicit=True)
            if item.tag == SEQUENCE_END and outer.length == UNDEFINED:
                return found, item.start
            self.items += 1
            if item.tag != ITEM:
                raise _make_header_error()
            if self.items > _MAX_ITEMS:
                raise make_damaged_error("The header of a DICOM file of the slide lists more than any slide has.")
            values, at = self.fields(item, wanted, implicit=implicit)
            found.append(values)
        return found, _check_end(outer, at)

    def element(self, at: int, *, implicit: bool) -> Element:
        self.elements += 1
        if self.elements > _MAX_ELEMENTS or self.reader.fetched > _MAX_FETCHED:
            raise make_damaged_error("The header of a DICOM file of the slide is too long to be one.")
        found = read_element(self.reader, at, implicit=implicit)
        if found.length != UNDEFINED and found.start + found.length > self.reader.size:
            raise make_truncated_error()
        return found


def _check_end(outer: Element, at: int) -> int:
    if at > outer.start + outer.length:
        raise make_damaged_error("An element in the slide's DICOM files reaches past the one that holds it.")
    return at


def _make_header_error() -> Exception:
    return make_damaged_error("The header of a DICOM file of the slide is damaged.")
