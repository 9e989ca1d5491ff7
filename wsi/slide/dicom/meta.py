"""The first bytes of a DICOM file: whether it is one, what it holds, and how it is written. Source: PS3.10, 7.1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wsi.slide.dicom.buffered_range_reader import BufferedRangeReader
from wsi.slide.dicom.elements import read_element
from wsi.slide.tiff import make_damaged_error

SLIDE_CLASS: Final = "1.2.840.10008.5.1.4.1.1.77.1.6"  #: VL Whole Slide Microscopy Image Storage
IMPLICIT: Final = "1.2.840.10008.1.2"
DEFLATED: Final = "1.2.840.10008.1.2.1.99"
BIG_ENDIAN: Final = "1.2.840.10008.1.2.2"
DATA: Final = 132  #: where the first element starts, behind the preamble and the magic bytes
_CLASS: Final = 0x0002_0002  #: MediaStorageSOPClassUID
_INSTANCE: Final = 0x0002_0003  #: MediaStorageSOPInstanceUID
_SYNTAX: Final = 0x0002_0010  #: TransferSyntaxUID
_MAX_META: Final = 100  #: elements


@dataclass(frozen=True, slots=True)
class Meta:
    sop_class: str
    instance: str  #: SOPInstanceUID; empty where the file does not say
    syntax: str  #: transfer syntax
    end: int  #: where the data set starts

    @property
    def is_readable(self) -> bool:
        """True if the elements of the data set can be walked: most compressions leave them alone."""
        return self.syntax not in (DEFLATED, BIG_ENDIAN)


def is_dicom(head: bytes) -> bool:
    """Return whether a file that starts with `head` (132 bytes at least) is DICOM, also when it is TIFF as well."""
    return head[128:132] == b"DICM"


def read_meta(reader: BufferedRangeReader) -> Meta:
    """Return the file meta information of a DICOM file of any class. Raises SlideRejected TRUNCATED, DAMAGED;
    SourceError."""
    at, found = DATA, dict[int, str]()
    for _ in range(_MAX_META):
        if at + 8 > reader.size:
            break
        entry = read_element(reader, at, implicit=False)
        if entry.tag >> 16 != 2 or entry.length < 0:
            break
        if entry.tag in (_CLASS, _INSTANCE, _SYNTAX):
            found[entry.tag] = reader.read(entry.start, min(entry.length, 64)).decode("ascii", "replace").strip("\0 ")
        at = entry.start + entry.length
    if not {_CLASS, _SYNTAX} <= found.keys():
        raise make_damaged_error("A DICOM file of the slide does not say what it holds.")
    return Meta(found[_CLASS], found.get(_INSTANCE, ""), found[_SYNTAX], at)


def is_implicit_vr(reader: BufferedRangeReader, meta: Meta) -> bool:
    """Return whether the elements of the data set state no value representations. The first element decides, as some
    writers name the wrong transfer syntax."""
    if meta.end + 8 > reader.size:
        return meta.syntax == IMPLICIT
    return not reader.read(meta.end + 4, 2).isupper()
