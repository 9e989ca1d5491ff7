"""The codes that stay, each with the meaning that the standard gives it: CodeMeaning is free text, and CodeValue may be
any text of a scheme of one's own. Source: PS3.16, CID 8121 to 8125; codes of SNOMED before 2017 are in PS3.16, annex L.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from wsi.slide.deidentification.dicom.values import encode_element
from wsi.slide.dicom.fields import Fields

_VALUE: Final = 0x0008_0100
_SCHEME: Final = 0x0008_0102
_MEANING: Final = 0x0008_0104
WANTED: Final = MappingProxyType({_VALUE: None, _SCHEME: None})
_OF_DICOM: Final = {
    "111609": "No filter",
    "111741": "Transmission illumination",
    "111742": "Reflection illumination",
    "111743": "Epifluorescence illumination",
    "111744": "Brightfield illumination",
    "111745": "Darkfield illumination",
    "111746": "Oblique illumination",
    "111747": "Phase contrast illumination",
    "111748": "Differential interference contrast",
    "111749": "Total internal reflection fluorescence",
}
#: Code of SNOMED CT, the same before 2017, and what both mean.
_OF_SNOMED: Final = (
    ("414298005", "R-102C0", "Full Spectrum"),
    ("414497003", "R-102BE", "Infrared"),
    ("415770004", "R-102BF", "Ultraviolet"),
    ("371240000", "G-A11A", "Red"),
    ("371246006", "G-A11E", "Green"),
    ("405738005", "G-A12F", "Blue"),
    ("445601002", "A-00118", "Slide overview lens"),
    ("445621001", "A-0011A", "High power non-immersion lens"),
    ("445622008", "A-0011B", "Oil immersion lens"),
    ("122456005", "A-23000", "Laser"),
    ("445671003", "A-00124", "Xenon arc lamp"),
    ("445679001", "A-00125", "Tungsten halogen lamp"),
    ("445683001", "A-00126", "Light emitting diode"),
    ("445685008", "A-00127", "Mercury arc lamp"),
    ("445084008", "A-010DA", "Blue optical filter"),
    ("445169002", "A-010DC", "Infrared optical filter"),
    ("445254006", "A-010DD", "Ultraviolet optical filter"),
    ("445278001", "A-010DE", "Violet optical filter"),
    ("445279009", "A-010DF", "Red optical filter"),
    ("445391002", "A-010E1", "Polarizing optical filter"),
    ("445465004", "A-010E2", "Green optical filter"),
    ("445316008", "A-0010F", "Dichroic beamsplitter"),
)
_MEANINGS: Final = (
    {("DCM", code): meaning for code, meaning in _OF_DICOM.items()}
    | {("SCT", code): meaning for code, _, meaning in _OF_SNOMED}
    | {(scheme, code): meaning for scheme in ("SRT", "SNM3") for _, code, meaning in _OF_SNOMED}
)


def encode_known(item: Fields, *, implicit: bool) -> bytes | None:
    """Return the bytes of a code's item with the standard's meaning; None for a code that is not known here."""
    code, scheme = item.get_text(_VALUE), item.get_text(_SCHEME)
    meaning = _MEANINGS.get((scheme, code))
    return encode_code(code, scheme, meaning, implicit=implicit) if meaning is not None else None


def encode_code(code: str, scheme: str, meaning: str, *, implicit: bool) -> bytes:
    elements = ((_VALUE, "SH", code), (_SCHEME, "SH", scheme), (_MEANING, "LO", meaning))
    return b"".join(encode_element(tag, vr, text.encode(), implicit=implicit) for tag, vr, text in elements)
