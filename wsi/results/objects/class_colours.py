"""The colours of classes, which QuPath asks of every class: those that most people with a colour weakness tell apart
first (M. Okabe, K. Ito, Color Universal Design, 2008), then others around the circle of hues."""

from __future__ import annotations

import colorsys
from typing import Final

_FIRST: Final = (
    (0, 114, 178),
    (213, 94, 0),
    (0, 158, 115),
    (204, 121, 167),
    (240, 228, 66),
    (86, 180, 233),
    (230, 159, 0),
)
_TURN: Final = 0.618034  #: of the circle, from one hue to the next: the golden ratio leaves the widest gaps


def choose_colour(number: int) -> tuple[int, int, int]:
    """Return red, green and blue, 0 to 255, of a class by its number."""
    if number < len(_FIRST):
        return _FIRST[number]
    red, green, blue = (round(255 * part) for part in colorsys.hsv_to_rgb(number * _TURN % 1, 0.7, 0.8))
    return red, green, blue
