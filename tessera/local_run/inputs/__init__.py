"""Turns what the user names into a list of slides, and a list of files that are none, with the reasons."""

from tessera.local_run.inputs.expansion import expand
from tessera.local_run.inputs.slide_input import (
    Found,
    LeftOut,
    LeftOutReason,
    SlideInput,
    UsageError,
    get_only_slide,
    get_place,
)

__all__ = ("Found", "LeftOut", "LeftOutReason", "SlideInput", "UsageError", "expand", "get_only_slide", "get_place")
