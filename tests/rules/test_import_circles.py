"""No module imports itself by way of others, not inside a function either: what runs first must not matter, and each
module can be read with what lies below it alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("wsi", "adapters", "lambdas", "inference", "gpu_worker", "cdk", "local", "tessera")


def modules(root: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in (path for package in PACKAGES for path in (root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(node: ast.AST) -> Iterator[str]:
    """Yield the names that are imported, but for those that types alone need."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from (name.name for name in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            yield from (f"{child.module}.{name.name}" for name in child.names)
        yield from imported(child)


def graph(sources: Mapping[str, str]) -> dict[str, Set[str]]:
    """Return module -> the modules of ours that it imports."""
    arrows: dict[str, Set[str]] = {}
    for module, source in sources.items():
        found: set[str] = set()
        for name in imported(ast.parse(source)):
            while name and name not in sources:
                name = name.rpartition(".")[0]
            found |= {name} - {"", module}
        arrows[module] = found
    return arrows


def circle(arrows: Mapping[str, Set[str]]) -> list[str]:
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def folders(arrows: Mapping[str, Set[str]]) -> dict[str, Set[str]]:
    """Return folder -> folders below each package: `wsi.planning`, or a module that lies in none, `wsi.errors`."""
    inner = {".".join(module.split(".")[:2]) for module in arrows if module.count(".") > 1}

    def folder(module: str) -> str:
        head = ".".join(module.split(".")[:2])
        return head if head in inner else module

    together: dict[str, set[str]] = {}
    for module, targets in arrows.items():
        together.setdefault(folder(module), set()).update(map(folder, targets))
    return {name: targets - {name} for name, targets in together.items()}


@pytest.mark.parametrize("inside", ["from wsi.b import B", "def f():\n    import wsi.b"])
def test_the_rule_finds_a_circle(inside: str) -> None:
    sources = {"wsi.a": inside, "wsi.b": "from wsi import c", "wsi.c": "from wsi.a import A", "wsi": ""}
    assert circle(graph(sources))


def test_what_types_alone_need_makes_no_circle() -> None:
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from wsi.b import B"
    assert not circle(graph({"wsi.a": typed, "wsi.b": "import wsi.a"}))


def test_the_rule_finds_a_circle_of_folders() -> None:
    sources = {
        "wsi.slide.index": "from wsi.planning.mask import Mask",
        "wsi.planning.mask": "",
        "wsi.planning.grid": "import wsi.slide.tiff",
        "wsi.slide.tiff": "",
    }
    assert not circle(graph(sources))
    assert circle(folders(graph(sources)))


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circle(graph({module: path.read_text() for module, path in modules(ROOT).items()})) == []


def test_no_folder_needs_itself_by_way_of_others() -> None:
    assert circle(folders(graph({module: path.read_text() for module, path in modules(ROOT).items()}))) == []
