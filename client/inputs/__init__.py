"""What the user names becomes a list of slides, and a list of files that are none with the reasons."""

from client.inputs.expansion import expand
from client.inputs.slide_input import (
    Found,
    LeftOut,
    LeftOutReason,
    SlideInput,
    UsageError,
    only_slide,
    place,
)

__all__ = ("Found", "LeftOut", "LeftOutReason", "SlideInput", "UsageError", "expand", "only_slide", "place")
