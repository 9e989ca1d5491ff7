"""What the wheel holds imports on Windows: modules of POSIX are imported inside the functions that need them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("tessera", "wsi", "inference")
POSIX = frozenset({"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"})


def imported_at_once(source: str) -> Iterator[str]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("source", ["import fcntl", "import os, pwd", "from resource import getrusage"])
def test_the_rule_finds_an_import(source: str) -> None:
    assert POSIX & {*imported_at_once(source)}
    assert not POSIX & {*imported_at_once(f"def use():\n    {source}")}


def test_no_module_imports_what_only_posix_has() -> None:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert files
    found = {path.relative_to(ROOT).as_posix(): POSIX & {*imported_at_once(path.read_text())} for path in files}
    assert {name: modules for name, modules in found.items() if modules} == {}
