"""The piece that a message quotes of a text that looks like a scale and is not understood.

The text may hold a patient's name, so that nothing free is quoted: the field's name, a word in place of a number and
the unit are among those listed here, and the number has at most seven digits before its decimal mark.
"""

from __future__ import annotations

import re
from typing import Final

from wsi.slide.scales.numbers import MICRON, UNIT

_FIELDS: Final = (
    "MPP",
    rf"{MICRON}[ _-]?(?:/|per)[ _-]?(?:pixel|px)",
    r"3dh_PixelSize",
    r"(?:physical[ _-]?)?pixel[ _-]?(?:size|width|spacing)[ _-]?(?:um|microns?)?",
    r"(?:spatial[ _-]?)?calibration",
    r"scale[ _-]?bar",
    r"resolution",
)
_AXIS: Final = r"(?:[ _-]?[xy])?(?![a-z])"
_BETWEEN: Final = r"[^\S\r\n]{0,4}[\"']?[^\S\r\n]{0,4}[=:>]?[^\S\r\n]{0,4}[\"'\[(]{0,2}"
#: Not the beginning of a date, an address or a longer number.
_NUMBER: Final = r"[+-]?(?:\d{1,7}(?:[.,]\d{1,9})?|[.,]\d{1,9})(?:e[+-]?\d{1,3})?(?![\d./:-]*\d)"
_WORD: Final = r"(?:nan|inf(?:inity)?|n/a|none|null|unknown|undefined)(?![a-z])"
_OTHER_UNIT: Final = r"m|pm|dpi|ppi|px|pix|pixels?|points?|pt|mil|thou"
_MEASURE: Final = rf"(?:{UNIT}|{_OTHER_UNIT})(?:\s?(?:/|per)\s?(?:{UNIT}|{_OTHER_UNIT}))?(?![a-z])"
_PATTERNS: Final = tuple(
    re.compile(
        rf"(?P<field>{field}{_AXIS}){_BETWEEN}(?P<value>{_NUMBER}|{_WORD})(?:[^\S\r\n]{{0,4}}(?P<unit>{_MEASURE}))?",
        re.IGNORECASE,
    )
    for field in _FIELDS
)
#: A number alone counts with micrometres behind it.
_ALONE: Final = re.compile(rf"(?<![\w.,])(?P<value>{_NUMBER})\s{{0,2}}(?P<unit>{MICRON}(?![a-z]))", re.IGNORECASE)


def quote_scale(text: str) -> str | None:
    """Return the first piece that looks like a scale, as "MPP = 0.25", at most 80 characters; None without one."""
    for pattern in _PATTERNS:
        if found := pattern.search(text):
            unit = f" {found['unit']}" if found["unit"] else ""
            return f"{found['field']} = {found['value']}{unit}"
    alone = _ALONE.search(text)
    return None if alone is None else f"{alone['value']} {alone['unit']}"
