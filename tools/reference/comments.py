"""The source's description of each field of a settings class: its `#:` comments, which are gone at run time."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

_COMMENT = re.compile(r"#: ?(.*)$")


def read_field_comments(described: type) -> Mapping[str, str]:
    """Return the comment of each field of this class alone: the lines above it and the one after it, joined."""
    text = inspect.getsource(described)
    lines = text.splitlines()
    (body,) = ast.parse(textwrap.dedent(text)).body
    assert isinstance(body, ast.ClassDef)
    return {
        node.target.id: " ".join((*_above(lines, node.lineno - 1), *_behind(lines[_last_line(node)])))
        for node in body.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def _above(lines: Sequence[str], at: int) -> list[str]:
    begin = at
    while begin and lines[begin - 1].lstrip().startswith("#:"):
        begin -= 1
    return [found for line in lines[begin:at] for found in _behind(line)]


def _last_line(node: ast.AnnAssign) -> int:
    return (node.end_lineno or node.lineno) - 1


def _behind(line: str) -> Iterator[str]:
    if (found := _COMMENT.search(line)) is not None:
        yield found[1].strip()
