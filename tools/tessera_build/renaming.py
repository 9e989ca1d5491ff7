"""The renaming of our packages in the source of one module: `wsi.errors` becomes `tessera._internal.wsi.errors`.

A name that cannot be renamed with certainty is a fault: the build fails, and not the user's program.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

INTERNAL = "tessera._internal"
MOVED = ("wsi", "inference", "adapters")
#: Our packages that are in no wheel.
LEFT_OUT = ("cdk", "gpu_worker", "lambdas", "local", "tests", "tools")

#: A module of ours within a text.
_NAMED = re.compile(rf"(?<![\w./-])(?:{'|'.join(MOVED)})\.[a-z_]")
#: The part of an f-string before an inserted name.
_BEGUN = re.compile(rf"(?<![\w./-])(?:{'|'.join(MOVED)})\.$")
_BY_NAME = frozenset({"__import__", "find_spec", "import_module", "run_module"})


class Unrenamable(Exception):
    """Names of our modules that cannot be renamed: a line each, with file and line number."""


@dataclass(frozen=True, slots=True)
class _Edit:
    """The bytes of one line that are replaced."""

    line: int  #: from 0
    begin: int
    end: int
    text: str


def list_imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str, bool]]:
    """Yield (line, name, whether it must be a module) of each import. `from a.b import c` gives "a.b" first, then
    "a.b.c", which may be anything."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, True
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield node.lineno, module, True
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}", False


def rename_modules(source: str, where: str, modules: Collection[str]) -> str:
    """Return the source with all names of `modules` (those in the wheel) changed to the wheel's. `where` is the file,
    for messages. Raises Unrenamable."""
    nodes = [*ast.walk(ast.parse(source))]
    lines = source.encode().splitlines(keepends=True)
    faults = [*_import_faults(nodes, modules), *_text_faults(nodes, modules, lines), *_call_faults(nodes)]
    if faults:
        raise Unrenamable("\n".join(f"{where}, line {line}: {fault}" for line, fault in sorted(faults)))
    edits = [*_import_edits(nodes, lines), *_text_edits(nodes, lines, modules)]
    for edit in sorted(edits, key=lambda each: (each.line, each.begin), reverse=True):
        line = lines[edit.line]
        lines[edit.line] = line[: edit.begin] + edit.text.encode() + line[edit.end :]
    return b"".join(lines).decode()


def list_data_faults(data: bytes, where: str) -> list[str]:
    """Return a line for each name of our modules in a file that is not Python."""
    text = data.decode(errors="replace")
    return [f"{where} names {found[0]}…, which the wheel calls otherwise" for found in _NAMED.finditer(text)]


def _root(name: str) -> str:
    return name.partition(".")[0]


def _import_faults(nodes: Sequence[ast.AST], modules: Collection[str]) -> Iterator[tuple[int, str]]:
    for line, name, is_module in list_imports(nodes):
        if name.startswith("."):
            yield line, "the import is relative; name the module in full"
        elif _root(name) in LEFT_OUT and is_module:
            yield line, f"{name} is imported, and {_root(name)} is in no wheel"
        elif _root(name) in MOVED and is_module and name not in modules:
            yield line, f"{name} is imported, and there is no such module"
    for node in nodes:
        if not isinstance(node, ast.Import):
            continue
        for alias in node.names:
            if _root(alias.name) in MOVED and alias.asname is None:
                yield node.lineno, f"`import {alias.name}` binds {_root(alias.name)}; write `from … import …`"


def _text_faults(nodes: Sequence[ast.AST], modules: Collection[str], lines: list[bytes]) -> Iterator[tuple[int, str]]:
    for node in _texts(nodes):
        if _NAMED.search(node.value) and not _is_plain(node, lines, modules):
            yield node.lineno, f"{node.value!r} names a module; write the module's name alone, as one plain string"
    for joined in (node for node in nodes if isinstance(node, ast.JoinedStr)):
        for part in joined.values:
            if isinstance(part, ast.Constant) and _BEGUN.search(str(part.value)):
                yield joined.lineno, "the f-string puts the name of a module together"


def _call_faults(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if not isinstance(node, ast.Call) or not _is_by_name(node.func):
            continue
        named = node.args[0] if node.args else None
        if _is_below_itself(named):
            continue
        # The strings that a variable may hold are renamed where they are, except for the bare name of a package.
        written = [named.value] if isinstance(named, ast.Constant) else [text.value for text in _texts(nodes)]
        is_put_together = not isinstance(named, ast.Constant | ast.Name | ast.Attribute | ast.Subscript)
        if is_put_together or set(MOVED) & {*written}:
            yield node.lineno, "a module is loaded by a name that the build cannot read; import it"


def _is_below_itself(named: ast.expr | None) -> bool:
    """Return whether the name begins with the module's own, which is right wherever the module is."""
    match named:
        case ast.JoinedStr(values=[ast.FormattedValue(value=ast.Name(id="__name__" | "__package__")), *_]):
            return True
        case _:
            return False


def _is_by_name(called: ast.expr) -> bool:
    """Return whether the function loads a module, or a file of one, by its name."""
    match called:
        case ast.Name(id=name):
            return name in _BY_NAME
        case ast.Attribute(value=ast.Name(id="resources") | ast.Attribute(attr="resources")):
            return True
        case ast.Attribute(attr=name):
            return name in _BY_NAME
        case _:
            return False


def _import_edits(nodes: Sequence[ast.AST], lines: list[bytes]) -> Iterator[_Edit]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and _root(node.module) in MOVED:
            line = node.lineno - 1
            begin = lines[line].index(node.module.encode(), node.col_offset + len("from"))
            yield _Edit(line, begin, begin, f"{INTERNAL}.")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if _root(alias.name) in MOVED:
                    yield _Edit(alias.lineno - 1, alias.col_offset, alias.col_offset, f"{INTERNAL}.")


def _text_edits(nodes: Sequence[ast.AST], lines: list[bytes], modules: Collection[str]) -> Iterator[_Edit]:
    for node in _texts(nodes):
        if _is_plain(node, lines, modules):
            yield _Edit(node.lineno - 1, node.col_offset + 1, node.col_offset + 1, f"{INTERNAL}.")


def _is_plain(node: ast.Constant, lines: list[bytes], modules: Collection[str]) -> bool:
    """Return whether the string is the name of a module below a package of ours, in plain quotes on one line. The bare
    name of a package is a word like any other."""
    if "." not in node.value or node.value not in modules or _root(node.value) not in MOVED:
        return False
    written = lines[node.lineno - 1][node.col_offset : node.end_col_offset]
    return node.end_lineno == node.lineno and written in (f'"{node.value}"'.encode(), f"'{node.value}'".encode())


def _texts(nodes: Sequence[ast.AST]) -> Iterator[ast.Constant]:
    """Yield the strings, except for docstrings and others that nothing reads."""
    unread = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in unread:
            yield node
