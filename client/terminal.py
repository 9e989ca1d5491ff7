"""Text of users in the terminal: names of files and classes, which hold whatever file systems allow."""

from __future__ import annotations

from rich.markup import escape

from wsi.texts import visible


def escaped(text: str) -> str:
    """Return the text for a rich table or bar: no markup, and no control character that moves the cursor."""
    return escape(visible(text))
