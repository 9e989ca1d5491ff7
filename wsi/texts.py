"""Control characters in names that users and other programs give: which ones there are, and how to show them.

Control characters are Unicode's category Cc. Spaces of any width, joiners and marks of direction are none: macOS writes
U+202F into the names of screenshots, Japanese names hold U+3000, and joined emoji hold U+200D.
"""

from __future__ import annotations

import unicodedata


def holds_control(text: str) -> bool:
    """Return whether the text holds a control character, or half of a surrogate pair, which no file can hold."""
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in text)


def escape_control(text: str) -> str:
    r"""Return the text as a terminal may print it: "\x1b" in place of the character that starts a terminal command."""
    if not holds_control(text):
        return text
    return "".join(repr(each)[1:-1] if holds_control(each) else each for each in text)
