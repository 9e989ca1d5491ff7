"""docs/explanation/reliability.md names, for each known failure mode, tests that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| F-(\d+) \| .+? \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::([\w:]+)`")


@pytest.fixture(scope="module")
def rows() -> dict[int, str]:
    """The last column by the number of the failure mode."""
    text = (ROOT / "docs/explanation/reliability.md").read_text()
    return {int(number): held_by for number, held_by in ROW.findall(text)}


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def list_tests(path: Path, root: Path) -> Iterator[str]:
    """Yield the tests that pytest collects from a file, those that their classes inherit too, as it names them."""
    for node in parse(path).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from (f"{node.name}::{name}" for name in list_methods(path, node.name, root))


def list_methods(path: Path, name: str, root: Path) -> Iterator[str]:
    """Yield the tests of a class that the module defines, or imports from another of this repository."""
    for node in parse(path).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            source = root / (node.module.replace(".", "/") + ".py")
            if source.exists() and name in {alias.name for alias in node.names}:
                yield from list_methods(source, name, root)
        if isinstance(node, ast.ClassDef) and node.name == name:
            yield from (n.name for n in node.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_"))
            for base in node.bases:
                yield from list_methods(path, ast.unparse(base), root)


def list_missing_tests(text: str, root: Path) -> Iterator[str]:
    """Yield the tests that `text` names and pytest does not collect."""
    for file, name in TEST.findall(text):
        is_collected = Path(file).name.startswith("test_") and (root / file).exists()
        if not is_collected or name not in set(list_tests(root / file, root)):
            yield f"{file}::{name}"


def test_every_failure_mode_has_a_row(rows: dict[int, str]) -> None:
    assert list(rows) == list(range(1, 62))


def test_every_row_names_a_test(rows: dict[int, str]) -> None:
    assert [number for number, held_by in rows.items() if not TEST.search(held_by)] == []


def test_every_test_that_a_row_names_exists(rows: dict[int, str]) -> None:
    missing = {number: found for number, text in rows.items() if (found := list(list_missing_tests(text, ROOT)))}
    assert missing == {}


def test_a_test_that_does_not_exist_is_found(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/contract.py").write_text("class Contract:\n  def test_base(self): ...\n")
    (tmp_path / "tests/test_a.py").write_text(
        "from tests.contract import Contract\ndef test_one(): ...\nclass TestA(Contract):\n  def test_two(self): ..."
    )
    good = ("test_a.py::test_one", "test_a.py::TestA::test_two", "test_a.py::TestA::test_base")
    assert list(list_missing_tests(" ".join(f"`tests/{name}`" for name in good), tmp_path)) == []
    wrong = ("test_a.py::test_two", "test_a.py::TestA::test_one", "contract.py::Contract::test_base", "gone.py::test_a")
    found = list(list_missing_tests(" ".join(f"`tests/{name}`" for name in wrong), tmp_path))
    assert found == [f"tests/{name}" for name in wrong]
