"""What a network's own error says, in one line."""

from __future__ import annotations

from typing import Final

MOST: Final = 300  #: characters
#: TorchScript writes this first, then its traceback, and what went wrong last.
_OF_TORCHSCRIPT: Final = "TorchScript interpreter"
_NAMED: Final = ("RuntimeError: ", "Exception: ")


def own_words(error: BaseException) -> str:
    """Return the line of the error's text that says what went wrong, without a full stop; its type where it has no
    text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    line = lines[-1] if _OF_TORCHSCRIPT in lines[0] else lines[0]
    for named in _NAMED:
        line = line.removeprefix(named)
    if isinstance(error, KeyError):
        line = f"there is no {line}"
    return (line if len(line) <= MOST else f"{line[: MOST - 1]}…").rstrip(".:! ")
