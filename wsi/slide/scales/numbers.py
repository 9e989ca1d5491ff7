"""The numbers and units in which texts state a scale."""

from __future__ import annotations

import math
import re
from typing import Final

_MICRO: Final = (
    r"(?:\xb5|\u03bc|u|\ufffd|\\u00b5|\\u03bc|&#181;|&#xb5;|&micro;)"  #: \ufffd: no UTF-8, in ImageJ's texts
)
MICRON: Final = rf"(?:{_MICRO}m|microns?|micromet(?:er|re)s?)"
#: um in each unit, whose pattern matches the whole name in any case.
UNITS: Final = (
    (MICRON, 1.0),
    (r"nm|nanomet(?:er|re)s?", 1e-3),
    (r"mm|millimet(?:er|re)s?", 1e3),
    (r"cm|centimet(?:er|re)s?", 1e4),
    (r"in|inch(?:es)?", 25_400.0),
)
UNIT: Final = "|".join(pattern for pattern, _ in UNITS)
#: With a decimal point or comma, with or without an exponent. Twelve digits hold every scale, and bound the search.
NUMBER: Final = r"[+-]?(?:\d{1,12}(?:[.,]\d{1,12}){0,4}[.,]?|[.,]\d{1,12})(?:[eE][+-]?\d{1,3})?"


def find_microns(unit: str) -> float | None:
    """Return the um in a unit, or None for an unknown name."""
    return next((um for pattern, um in UNITS if re.fullmatch(pattern, unit.strip(), re.IGNORECASE)), None)


def parse_positive(text: str) -> float | None:
    """Return the number that `text`, which matches `NUMBER`, holds; None where it is not positive or not one number.

    One comma is a decimal comma, as "0,5000" is written in French. Of several marks the last one is the decimal mark if
    it differs from the others, which separate thousands.
    """
    mantissa, mark, exponent = text.lower().partition("e")
    mantissa = mantissa.rstrip(".,")
    marks = re.findall("[.,]", mantissa)
    if len(marks) > 1:
        *grouping, last = marks
        whole = mantissa if last == grouping[0] else mantissa[: mantissa.rindex(last)]
        if len(set(grouping)) > 1 or not re.fullmatch(r"[+-]?\d{1,3}(?:[.,]\d{3})+", whole):
            return None
        mantissa = re.sub("[.,]", "", whole) + mantissa[len(whole) :]
    value = float(mantissa.replace(",", ".") + mark + exponent)
    return value if 0 < value < math.inf else None
