"""The parts of an error that may be logged: its type, its frames, and the message of one of our own. The text of a
foreign error is never logged: it may hold a path or a value, and those hold patients' names and secrets."""

from __future__ import annotations

import traceback
from typing import Any

from wsi.errors import TesseraError

_FRAMES = 8  #: innermost ones


def make_error_fields(error: BaseException) -> dict[str, Any]:
    sentence = {"sentence": error.sentence} if isinstance(error, TesseraError) else {}
    frames = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-_FRAMES:]]
    return {"error": type(error).__name__, **sentence, "frames": frames}
