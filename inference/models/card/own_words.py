"""A network's own error in one line."""

from __future__ import annotations

import re
from typing import Final

MOST: Final = 300  #: characters
#: TorchScript writes this first, then its traceback, and what went wrong last.
_OF_TORCHSCRIPT: Final = "TorchScript interpreter"
#: "RuntimeError: ", and of TorchScript "builtins.RuntimeError: ".
_TYPE: Final = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception): ")


def describe_error(error: BaseException) -> str:
    """Return the line of the error's text that says what went wrong, without a full stop; the error's type if it has
    no text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    line = lines[-1] if _OF_TORCHSCRIPT in lines[0] else lines[0]
    line = _TYPE.sub("", line)
    if isinstance(error, KeyError):
        line = f"there is no {line}"
    return (line if len(line) <= MOST else f"{line[: MOST - 1]}…").rstrip(".:! ")
