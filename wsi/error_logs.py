"""What may be logged of an error: its type, the frames, and the sentence of one of ours. Never a foreign error's text:
that may hold a path or a value, and those hold patients' names and secrets."""

from __future__ import annotations

import traceback
from typing import Any

from wsi.errors import TesseraError

_FRAMES = 8  #: innermost ones


def error_fields(error: BaseException) -> dict[str, Any]:
    sentence = {"sentence": error.sentence} if isinstance(error, TesseraError) else {}
    frames = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-_FRAMES:]]
    return {"error": type(error).__name__, **sentence, "frames": frames}
