"""Choices for an evaluation. Needs no numpy: the command line reads it before anything is evaluated."""

from __future__ import annotations

from enum import StrEnum


class Task(StrEnum):
    """The kind of thing that is compared."""

    TILES = "tiles"
    SLIDES = "slides"
    OBJECTS = "objects"


class TileRule(StrEnum):
    """The rule that gives a tile its true class."""

    OVERLAP = "overlap"
    CENTRE = "centre"


class SlideScore(StrEnum):
    """The way in which the scores of a slide's tiles become one."""

    MEAN = "mean"
    MAX = "max"
    TOP10 = "top10"  #: mean of the highest tenth, one tile at least
    SHARE = "share"  #: of tiles from a threshold on
