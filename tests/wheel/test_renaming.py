"""Names of our modules in the wheel: all that can be renamed are, and the others fail the build."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.tessera_build.renaming import Unrenamable, rename_modules
from tools.tessera_build.staging import stage

MODULES = frozenset({"tessera", "wsi", "wsi.errors", "inference", "inference.decoding", "inference.decoding.child"})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from wsi.errors import Conflict", "from tessera._internal.wsi.errors import Conflict"),
        ("from wsi import errors", "from tessera._internal.wsi import errors"),
        ("import wsi.errors as errors", "import tessera._internal.wsi.errors as errors"),
        ("def f():\n    from  wsi.errors import (\n        A,\n    )", "from  tessera._internal.wsi.errors import ("),
        ("ä = 1; from wsi import errors", "ä = 1; from tessera._internal.wsi import errors"),
        ('run("-m", "inference.decoding.child")', '"tessera._internal.inference.decoding.child"'),
        ("import_module('wsi.errors')", "'tessera._internal.wsi.errors'"),
    ],
)
def test_names_of_modules_are_renamed(source: str, expected: str) -> None:
    assert expected in rename_modules(source, "a.py", MODULES)


@pytest.mark.parametrize(
    "source",
    [
        "from tessera.cli import main\nimport numpy as wsi_like",
        '"""What `wsi.errors` holds."""',
        "# wsi.errors",
        'key = "inference"',
        'path = "/api/v1/wsi"',
        'path = "folder/wsi.errors"',
        "self.files(folder)",
        'import_module("imagecodecs")',
        'import_module(f"{__name__}.public.{name}")',
        'for name in ("pandas", "polars"):\n    import_module(name)',
    ],
)
def test_what_names_no_module_stays(source: str) -> None:
    assert rename_modules(source, "a.py", MODULES) == source


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("import wsi.errors", "binds wsi"),
        ("from wsi.error import Conflict", "no such module"),
        ("from . import errors", "is relative"),
        ("from gpu_worker.worker import main", "is in no wheel"),
        ('run("python -m inference.decoding.child")', "names a module"),
        ('run("inference." "decoding.child")', "names a module"),
        ('run("wsi.gone")', "names a module"),
        ('run(f"inference.{name}")', "puts the name of a module together"),
        ('run(f"inference.decoding.{name}")', "names a module"),
        ('import_module("wsi")', "by a name that the build cannot read"),
        ('import_module(name); name = "wsi"', "by a name that the build cannot read"),
        ('importlib.import_module("wsi" + name)', "by a name that the build cannot read"),
        ("importlib.import_module(f'{name}.errors')", "by a name that the build cannot read"),
        ("importlib.import_module()", "by a name that the build cannot read"),
        ('importlib.resources.files("wsi")', "by a name that the build cannot read"),
    ],
)
def test_what_cannot_be_renamed_fails_the_build(source: str, fault: str) -> None:
    with pytest.raises(Unrenamable, match=f"^a.py, line 2: .*{fault}"):
        rename_modules(f"\n{source}", "a.py", MODULES)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    files = {
        "pyproject.toml": '[project]\nreadme = "README.md"\nlicense-files = ["LICENSE"]\n[project.scripts]\n'
        't = "tessera.cli:main"\n[tool.setuptools]\n',
        "README.md": "",
        "LICENSE": "",
        "tessera/__init__.py": "",
        "tessera/cli.py": "from adapters.used import thing",
        "tessera/facts.json": "{}",
        "wsi/__init__.py": "",
        "inference/__init__.py": "",
        "adapters/__init__.py": "",
        "adapters/used.py": "from adapters.further import thing",
        "adapters/further.py": "import boto3",
        "adapters/unused.py": "import gpu_worker.worker",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def staged(tree: Path) -> set[str]:
    target = tree.parent / "staged"
    target.mkdir()
    stage(tree, target)
    return {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}


def test_adapters_come_as_far_as_they_are_imported(tree: Path) -> None:
    names = staged(tree)
    assert {name for name in names if "adapters" in name} == {
        f"tessera/_internal/adapters/{name}.py" for name in ("__init__", "used", "further")
    }
    assert "tessera/facts.json" in names


def test_what_python_writes_beside_the_code_stays_out(tree: Path) -> None:
    """Also while it writes: a compiled file has another suffix until it is whole."""
    (tree / "tessera/__pycache__").mkdir()
    for name in ("cli.cpython-313.pyc", "cli.cpython-313.pyc.140234"):
        (tree / "tessera/__pycache__" / name).write_bytes(b"")
    assert not [name for name in staged(tree) if "pyc" in name]


def test_a_name_in_a_file_of_data_fails_the_build(tree: Path) -> None:
    (tree / "tessera/facts.json").write_text('{"module": "wsi.errors"}')
    with pytest.raises(Unrenamable, match=r"tessera/facts.json names wsi\.e"):
        staged(tree)


def test_an_entry_point_outside_fails_the_build(tree: Path) -> None:
    project = tree / "pyproject.toml"
    project.write_text(project.read_text().replace("tessera.cli:main", "wsi.cli:main"))
    with pytest.raises(Unrenamable, match="entry point t is not in tessera"):
        staged(tree)
