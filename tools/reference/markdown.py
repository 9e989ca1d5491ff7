"""Tables and anchors of Markdown, as the generated pages use them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table that ends with an empty line; bars and line breaks in cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(text) for text in line)} |" for line in lines) + "\n"


def format_code(value: object) -> str:
    return f"`{value}`"


def make_anchor(heading: str) -> str:
    """Return the anchor that GitHub and Python-Markdown's toc both give to a plain heading."""
    kept = re.sub(r"[^\w\s-]", "", heading.lower()).strip()
    return re.sub(r"\s", "-", kept)


def escape_html(text: str) -> str:
    """Return the text with each `<` outside code escaped, so that no `<name>` is read as HTML."""
    parts = text.split("`")
    return "`".join(part if within % 2 else part.replace("<", "&lt;") for within, part in enumerate(parts))


def _cell(text: str) -> str:
    return " ".join(escape_html(text).split()).replace("|", "\\|")
