"""`import tessera` offers its names and loads nothing that costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tessera

ROOT = Path(__file__).parents[3]
HEAVY = ("numpy", "rich", "typer", "httpx", "gql", "torch", "wsi", "inference", "importlib.metadata")


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_it_loads_nothing_that_costs() -> None:
    assert not loaded_after("import tessera") & set(HEAVY)


@pytest.mark.parametrize("use", ["tessera.open", "tessera.Client", "tessera.RunResult", "tessera.SlideRejected"])
def test_what_runs_no_model_loads_no_torch(use: str) -> None:
    assert not loaded_after(f"import tessera; {use}") & {"torch", "inference", "typer"}


def test_every_name_is_there_and_no_other() -> None:
    assert all(getattr(tessera, name) is not None for name in tessera.__all__)
    assert dir(tessera) == sorted(tessera.__all__)
    with pytest.raises(AttributeError, match="no attribute 'close'"):
        tessera.close  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]


def test_type_checkers_see_the_names_that_are_loaded_later() -> None:
    tree = ast.parse((ROOT / "tessera/__init__.py").read_text())
    (typed,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {name.name for node in ast.walk(typed) if isinstance(node, ast.ImportFrom) for name in node.names}
    assert seen == set(tessera.__all__)
    assert (ROOT / "tessera/py.typed").exists()
