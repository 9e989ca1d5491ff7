"""The elements by which a clean DICOM file declares its de-identification.

Source: PS3.15, E.1.1; codes are those of PS3.16, CID 7050.
"""

from __future__ import annotations

from typing import Final

from wsi.slide.deidentification.dicom.codes import encode_code
from wsi.slide.deidentification.dicom.profile_table import EDITION
from wsi.slide.deidentification.dicom.values import encode_element, encode_sequence
from wsi.slide.dicom.meta import SLIDE_CLASS

_PROFILE: Final = ("113100", "DCM", "Basic Application Confidentiality Profile")
_METHOD: Final = f"Tessera: PS3.15 {EDITION} Basic Profile, unlisted removed"
_IMPLEMENTATION: Final = b"2.25.211842867295136071548123906857012345678"  #: of this writer, in every file

IDENTITY_REMOVED: Final = 0x0012_0062
METHOD: Final = 0x0012_0063
METHOD_CODES: Final = 0x0012_0064
TIME_MODIFIED: Final = 0x0028_0303  #: LongitudinalTemporalInformationModified


def list_declarations(*, implicit: bool) -> list[tuple[int, bytes]]:
    """Return the elements that every clean file has, as (tag, bytes), in the order of their tags."""
    codes = [encode_code(*_PROFILE, implicit=implicit)]
    return [
        (IDENTITY_REMOVED, encode_element(IDENTITY_REMOVED, "CS", b"YES", implicit=implicit)),
        (METHOD, encode_element(METHOD, "LO", _METHOD.encode(), implicit=implicit)),
        (METHOD_CODES, encode_sequence(METHOD_CODES, codes, implicit=implicit)),
        (TIME_MODIFIED, encode_element(TIME_MODIFIED, "CS", b"REMOVED", implicit=implicit)),
    ]


def encode_head(syntax: str, instance: bytes) -> bytes:
    """Return the preamble and the file's meta information anew: class, instance, transfer syntax and this writer. AE
    titles, private information and the name of the scanner's software are gone. Source: PS3.10, 7.1."""
    elements = b"".join(
        encode_element(0x0002_0000 | element, vr, value, implicit=False)
        for element, vr, value in (
            (0x0001, "OB", b"\0\1"),
            (0x0002, "UI", SLIDE_CLASS.encode()),
            (0x0003, "UI", instance),
            (0x0010, "UI", syntax.encode()),
            (0x0012, "UI", _IMPLEMENTATION),
            (0x0013, "SH", b"TESSERA"),
        )
    )
    length = encode_element(0x0002_0000, "UL", len(elements).to_bytes(4, "little"), implicit=False)
    return bytes(128) + b"DICM" + length + elements
