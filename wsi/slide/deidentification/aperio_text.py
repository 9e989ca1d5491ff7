"""The parts of Aperio's description of a page that stay. All that is not known to be a measure is removed.

    Aperio Image Library v11.2.1
    46000x32914 [42673,5576 2220x2967] (240x240) JPEG/RGB Q=30|AppMag = 20|MPP = 0.4990|User = …|Filename = …

Source: openslide.org/formats/aperio, and the descriptions of slides in tests.
"""

from __future__ import annotations

import re
from typing import Final

_LIBRARY: Final = re.compile(r"Aperio (?:Image Library|Leica Biosystems GT450(?: DX)?)(?: v?\d+(?:\.\d+)*)?")
#: Sizes, the area that was scanned, the size of tiles, what the page was made to, how it is packed.
_GEOMETRY: Final = re.compile(
    r"\d+x\d+|\[-?\d+,-?\d+[ ,]\d+x\d+\]|\(\d+x\d+\)|->|(?:JPEG|J2K)/(?:RGB|YCbCr|YCC|YUV16|KDU|BGR)\b|Q=\d{1,3}"
)
#: Scale, lens, where on the glass the scan began and how the scanner's line camera stood. Their values are numbers.
_MEASURES: Final = frozenset(
    {
        "AppMag",
        "MPP",
        "StripeWidth",
        "Left",
        "Top",
        "LineCameraSkew",
        "LineAreaXOffset",
        "LineAreaYOffset",
        "Focus Offset",
        "OriginalWidth",
        "OriginalHeight",
        "Originalheight",
        "Filtered",
        "Exposure Time",
        "Exposure Scale",
        "Gamma",
        "DisplayColor",
    }
)
_NUMBER: Final = re.compile(r"[-+]?\d{1,12}(\.\d{1,12})?([eE][-+]?\d{1,3})?")


def keep_measures(text: str) -> tuple[bytes, int]:
    """Return the text that stays, which begins with "Aperio" as readers expect, and the number of values that are
    removed."""
    head, *fields = text.split("|")
    first, _, rest = head.partition("\n")
    library = _LIBRARY.match(first)
    geometry = " ".join(_GEOMETRY.findall(rest.partition(";")[0]))
    kept = [f"{key} = {value}" for key, value in map(_field, fields) if key in _MEASURES and _NUMBER.fullmatch(value)]
    name = library[0] if library else "Aperio Image Library"
    said = f"{name}\r\n{geometry}"
    lost = len(fields) - len(kept) + (said.split() != head.split())
    return "|".join((said, *kept)).encode("ascii"), lost


def _field(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key.strip(), value.strip()
