"""Text of users in the terminal: names of files and classes, which hold whatever file systems allow."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.markup import escape

from wsi.texts import escape_control


def escape_text(text: str) -> str:
    """Return the text for a rich table or bar: no markup, and no control character that moves the cursor."""
    return escape(escape_control(text))


def print_json(value: Any) -> None:
    """Print one JSON object on stdout: in ASCII where that is no UTF-8, as in a pipe on Windows."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=not is_utf8) + "\n")
    sys.stdout.flush()
