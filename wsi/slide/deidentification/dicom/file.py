"""De-identification of one DICOM file of a slide by the Basic Profile: its elements are walked one after another, and
what changes is collected as edits. Frames keep their bytes.

A level describes each of its frames, so that no data set is built from it (as in `wsi.slide.dicom.elements`, which does
not go into sequences of known length). Little endian, with or without value representations. Source: PS3.5, section 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pydicom.datadict import dictionary_VR

from wsi.records.slides import Removed
from wsi.slide.deidentification.colour_profile import blank_profile
from wsi.slide.deidentification.dicom.codes import WANTED, encode_known
from wsi.slide.deidentification.dicom.declaration import (
    IDENTITY_REMOVED,
    METHOD,
    METHOD_CODES,
    TIME_MODIFIED,
    encode_head,
    list_declarations,
)
from wsi.slide.deidentification.dicom.kept import CODED, LEAVES, SEQUENCES, TYPES
from wsi.slide.deidentification.dicom.makers import name_maker, name_model
from wsi.slide.deidentification.dicom.pixels import PixelCleaner
from wsi.slide.deidentification.dicom.profile import ProfileAction, find_action
from wsi.slide.deidentification.dicom.values import (
    encode_element,
    encode_sequence,
    make_dummy,
    replace_uids,
    split_values,
)
from wsi.slide.deidentification.edits import Edit
from wsi.slide.deidentification.refusing import make_deidentification_error
from wsi.slide.dicom.buffered_range_reader import BufferedRangeReader, make_truncated_error
from wsi.slide.dicom.elements import (
    ITEM,
    ITEM_END,
    LENGTHS,
    OFFSETS,
    OPTICAL_PATH_IDENTIFIER,
    PIXELS,
    SEQUENCE_END,
    UNDEFINED,
    Element,
    ElementLimit,
    find_end,
    read_element,
)
from wsi.slide.dicom.fields import read_items
from wsi.slide.dicom.meta import Meta
from wsi.slide.ranges import ByteRange
from wsi.slide.tiff import make_damaged_error

_IMAGE_TYPES: Final = frozenset({0x0008_0008, 0x0008_9007})  #: ImageType, FrameType
_MAKERS: Final = {0x0008_0070: name_maker, 0x0008_1090: name_model}  #: Manufacturer, ManufacturerModelName
_BURNED_IN: Final = 0x0028_0301
_LABEL_IN_IMAGE: Final = 0x0048_0010
_ICC_PROFILE: Final = 0x0028_2000
_SHOWING: Final = frozenset({_BURNED_IN, _LABEL_IN_IMAGE})
_DECLARED: Final = frozenset({IDENTITY_REMOVED, METHOD, METHOD_CODES, TIME_MODIFIED})
_LONGEST: Final = 4_096  #: bytes of a value that may stay; longer ones are removed unread
_LONGEST_PROFILE: Final = 32 * 1024**2  #: bytes of a colour profile
_DEEPEST: Final = 16
_MOST_ELEMENTS: Final = 10_000_000  #: as many as `elements` walks to find the frames
_MOST_EDITS: Final = 1_000_000  #: about 300 MB


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesSecrets:
    """The values that the files of one series share, so that they still belong together afterwards."""

    salt: bytes  #: decides the new UIDs; nobody can trace them back without it
    paths: Mapping[str, str]  #: identifiers of optical paths that are text, and the numbers that replace them


@dataclass(slots=True)
class _FileCleaner:
    reader: BufferedRangeReader
    meta: Meta
    secrets: SeriesSecrets
    pixels: PixelCleaner
    implicit: bool  #: the elements of the file state no value representations
    edits: list[Edit] = field(default_factory=list[Edit])
    elements: int = 0
    changed: int = 0

    def clean(self, instance: str) -> Removed:
        """Collect the edits of the file, and return what they remove. `instance` is its SOPInstanceUID. Raises
        SlideRejected, SourceError."""
        head = encode_head(self.meta.syntax, replace_uids(instance.encode(), self.secrets.salt))
        self.edits.append(Edit(ByteRange(0, self.meta.end), head))
        declarations = list_declarations(implicit=self.implicit)
        at, found = self.meta.end, None
        while found is None or found.tag != PIXELS:
            found = read_element(self.reader, at, implicit=self.implicit)
            while declarations and declarations[0][0] <= found.tag:
                self.edits.append(Edit(ByteRange(at, at), declarations.pop(0)[1]))
            if found.tag != PIXELS:
                at, _ = self.element(at, found, implicit=self.implicit, depth=0)
        end = self.pixels.clean(found, self.edits)
        if end < self.reader.size:  # padding, signatures and what some program hung on to the file
            self.edits.append(Edit(ByteRange(end, self.reader.size), b""))
        return Removed(tags=self.changed + self.pixels.changed)

    def element(self, at: int, found: Element, *, implicit: bool, depth: int) -> tuple[int, int]:
        """Clean the element at `at`. Return where the next one starts, and the number of bytes by which it grows."""
        self.elements += 1
        if self.elements > _MOST_ELEMENTS or len(self.edits) > _MOST_EDITS:
            raise make_deidentification_error("The slide's DICOM files say more than can be looked through")
        if found.tag >> 16 in (0x0002, 0xFFFE):
            raise make_damaged_error("The slide's DICOM files hold a delimiter or a header where none can be.")
        if found.length != UNDEFINED and found.start + found.length > self.reader.size:
            raise make_truncated_error()
        vr = _find_vr(found.tag)
        if found.tag in SEQUENCES and found.vr in (b"", b"SQ", b"UN"):
            if found.vr and self.reader.read(found.start - 6, 2) != b"\0\0":  # which no reader looks at
                self.edits.append(Edit(ByteRange(found.start - 6, found.start - 4)))
            inside = found.is_implicit_within(implicit=implicit)
            return self.sequence(found, implicit=inside, depth=depth + 1)
        end = find_end(self.reader, found, ElementLimit(), implicit=implicit)
        new = None if found.length == UNDEFINED and found.tag not in CODED else self.keep(found, vr, implicit=implicit)
        if new is None:
            new = self.act(found, vr, implicit=implicit)
        return end, self.replace(at, end, found, new)

    def keep(self, found: Element, vr: str, *, implicit: bool) -> bytes | None:
        """Return the bytes of an element that may stay, with the value that may; None if the profile decides."""
        if found.tag in CODED:
            return self.codes(found, implicit=implicit)
        if found.vr and found.vr.decode("latin-1") not in vr.split(" or "):
            return None
        if found.tag in (OFFSETS, LENGTHS):
            return self.whole(found, implicit=implicit) if self.pixels.matches_frames(found) else None
        if found.tag == _ICC_PROFILE and found.length <= _LONGEST_PROFILE:
            profile = blank_profile(self.reader.read(found.start, found.length))
            return None if profile is None else encode_element(found.tag, vr, profile, implicit=implicit)
        if found.length > _LONGEST:
            return None
        value = self.reader.read(found.start, found.length)
        if found.tag in _SHOWING and value.strip(b"\0 ").upper() == b"YES":
            raise make_deidentification_error("The slide says itself that a label or text is part of its pixels")
        new = self.value(found.tag, value)
        if new is None:
            return None
        return (
            self.whole(found, implicit=implicit)
            if new == value
            else encode_element(found.tag, vr, new, implicit=implicit)
        )

    def value(self, tag: int, value: bytes) -> bytes | None:
        """Return the value that stays; None where the profile decides."""
        if tag in _IMAGE_TYPES:
            return _keep(value, b"\\".join(each if each in TYPES else b"NONE" for each in split_values(value)))
        if tag == OPTICAL_PATH_IDENTIFIER:
            text = value.strip(b"\0 ").decode("utf-8", "replace")
            number = text if is_path_number(text) else self.secrets.paths.get(text)
            return None if number is None else _keep(value, number.encode())
        name = _MAKERS.get(tag)
        if name is not None:
            return _keep(value, name(value.decode("latin-1"))) or None
        rule = LEAVES.get(tag)
        return value if rule is not None and rule(value) else None

    def whole(self, found: Element, *, implicit: bool) -> bytes:
        """Return the element as it is, without what may be in the two bytes that no reader looks at."""
        vr = found.vr.decode("latin-1") or _find_vr(found.tag)
        return encode_element(found.tag, vr, self.reader.read(found.start, found.length), implicit=implicit)

    def codes(self, found: Element, *, implicit: bool) -> bytes:
        items = read_items(self.reader, found, WANTED, implicit=implicit)
        known = [code for code in (encode_known(item, implicit=implicit) for item in items) if code is not None]
        return encode_sequence(found.tag, known, implicit=implicit)

    def act(self, found: Element, vr: str, *, implicit: bool) -> bytes:
        """Return the bytes that replace an element by the profile."""
        action = ProfileAction.REMOVE if found.tag in _DECLARED else find_action(found.tag)
        first = vr.partition(" or ")[0]
        if action is ProfileAction.EMPTY:
            return encode_element(found.tag, first, b"", implicit=implicit)
        if action is ProfileAction.DUMMY and first != "UI":
            return encode_element(found.tag, first, make_dummy(first), implicit=implicit)
        if first == "UI" and action in (ProfileAction.DUMMY, ProfileAction.UID) and 0 <= found.length <= _LONGEST:
            old = self.reader.read(found.start, found.length)
            return encode_element(found.tag, first, replace_uids(old, self.secrets.salt), implicit=implicit)
        return b""

    def replace(self, at: int, end: int, found: Element, new: bytes) -> int:
        old = self.reader.read(at, end - at) if end - at <= 2 * _LONGEST + len(new) else None
        if new == old:
            return 0
        self.edits.append(Edit(ByteRange(at, end), new))
        self.changed += bool(found.length)
        return len(new) - (end - at)

    def sequence(self, outer: Element, *, implicit: bool, depth: int) -> tuple[int, int]:
        if depth > _DEEPEST:
            raise make_damaged_error("The slide's DICOM files hold sequences within sequences without end.")
        end = None if outer.length == UNDEFINED else outer.start + outer.length
        at, grown = outer.start, 0
        while end is None or at < end:
            item = read_element(self.reader, at, implicit=True)
            if item.tag == SEQUENCE_END and end is None:
                self.restate_length(item, 0)
                return item.start, grown
            if item.tag != ITEM:
                raise make_damaged_error("A sequence in the slide's DICOM files holds something else than items.")
            at, more = self.item(item, implicit=implicit, depth=depth)
            grown += more
        if at > end:
            raise make_damaged_error("An element in the slide's DICOM files reaches past the one that holds it.")
        self.restate_length(outer, outer.length + grown)
        return at, grown

    def item(self, item: Element, *, implicit: bool, depth: int) -> tuple[int, int]:
        end = None if item.length == UNDEFINED else item.start + item.length
        at, grown = item.start, 0
        while end is None or at < end:
            found = read_element(self.reader, at, implicit=implicit)
            if end is None and found.tag == ITEM_END:
                self.restate_length(found, 0)
                return found.start, grown
            at, more = self.element(at, found, implicit=implicit, depth=depth)
            grown += more
        if at > end:
            raise make_damaged_error("An element in the slide's DICOM files reaches past the one that holds it.")
        self.restate_length(item, item.length + grown)
        return at, grown

    def restate_length(self, found: Element, length: int) -> None:
        """Write the length of a sequence, an item or a delimiter where another one is."""
        if found.length != length:
            place = ByteRange(found.start - 4, found.start)
            self.edits.append(Edit(place, length.to_bytes(4, "little")))


def is_path_number(name: str) -> bool:
    """Return whether an optical path's identifier is a number of up to four digits, which stays."""
    return name.isascii() and name.isdigit() and len(name) <= 4


def _keep(old: bytes, new: bytes) -> bytes:
    """Return the old value if it differs from the new one in its padding alone."""
    return old if old.rstrip(b"\0 ") == new else new


def _find_vr(tag: int) -> str:
    """Return the value representation in the standard, such as "OB" or "OB or OW"; UN for an unknown element."""
    try:
        return dictionary_VR(tag)
    except KeyError:
        return "UN"


def clean_dicom_file(
    reader: BufferedRangeReader,
    meta: Meta,
    *,
    instance: str,
    implicit: bool,
    secrets: SeriesSecrets,
    pixels: PixelCleaner,
) -> tuple[list[Edit], Removed]:
    """Return the edits of a file of `SLIDE_CLASS` that holds a level, and what they remove. `instance` is its
    SOPInstanceUID; `implicit`: its elements state no value representations. Raises SlideRejected, SourceError."""
    cleaner = _FileCleaner(reader, meta, secrets, pixels, implicit)
    removed = cleaner.clean(instance)
    return cleaner.edits, removed
