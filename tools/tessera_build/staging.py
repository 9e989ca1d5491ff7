"""The staging of the wheel's contents: `tessera`, and in `tessera/_internal` all it needs of our other packages."""

from __future__ import annotations

import ast
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .renaming import INTERNAL, MOVED, Unrenamable, list_data_faults, list_imports, rename_modules

#: Packages that are copied whole: no import reaches their data files and the modules that are run by name.
WHOLE = ("tessera", "wsi", "inference")
#: The package of which only imported modules are copied: the rest is the installation's, for its database and queues.
REACHED = "adapters"
#: The folder of compiled files, which a used tree has and no package contains. While Python writes one, it has another
#: suffix for a moment (`a.cpython-313.pyc.140234`).
_COMPILED = "__pycache__"


def stage(root: Path, target: Path) -> None:
    """Copy the project at `root` into the empty folder `target` as the wheel has it. Raises Unrenamable."""
    everything = {name: path for package in (*WHOLE, REACHED) for name, path in _modules(root, package)}
    held = {name for name in everything if name.partition(".")[0] in WHOLE}
    held |= _follow_imports([everything[name] for name in held], everything)
    faults: list[str] = []
    for name in sorted(held):
        path = everything[name]
        try:
            text = rename_modules(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix(), held)
        except Unrenamable as error:
            faults.append(str(error))
            continue
        _make_place(target / _place(path.relative_to(root))).write_text(text, encoding="utf-8", newline="")
    for path in _data(root):
        faults += list_data_faults(path.read_bytes(), path.relative_to(root).as_posix())
        shutil.copyfile(path, _make_place(target / _place(path.relative_to(root))))
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    faults += _entry_points_outside(settings["project"])
    if faults:
        raise Unrenamable("The wheel cannot be built:\n" + "\n".join(faults))
    internal = target.joinpath(*INTERNAL.split("."))
    (internal / "__init__.py").write_text(
        '"""Tessera\'s own packages: their names and contents change at any time."""\n'
    )
    for path in _project_files(root, settings):
        shutil.copyfile(root / path, _make_place(target / path))


def _modules(root: Path, package: str) -> Iterator[tuple[str, Path]]:
    for path in (root / package).rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _follow_imports(sources: Iterable[Path], modules: dict[str, Path]) -> set[str]:
    """Return the modules of `REACHED` that the sources import, with what these import and the packages they are in."""
    found: set[str] = set()
    left = list(sources)
    while left:
        tree = ast.parse(left.pop().read_text(encoding="utf-8"))
        for _, name, _ in list_imports(ast.walk(tree)):
            parts = name.split(".")
            for one in (".".join(parts[:count]) for count in range(1, len(parts) + 1)):
                if parts[0] == REACHED and one in modules and one not in found:
                    found.add(one)
                    left.append(modules[one])
    return found


def _data(root: Path) -> Iterator[Path]:
    for package in WHOLE:
        for path in sorted((root / package).rglob("*")):
            if path.is_file() and path.suffix != ".py" and path.parent.name != _COMPILED:
                yield path


def _place(path: Path) -> Path:
    return Path(*INTERNAL.split("."), path) if path.parts[0] in MOVED else path


def _make_place(path: Path) -> Path:
    """Make the path's folder, and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _entry_points_outside(project: Mapping[str, Any]) -> list[str]:
    tables = [project.get("scripts", {}), project.get("gui-scripts", {}), *project.get("entry-points", {}).values()]
    return [
        f"pyproject.toml: the entry point {name} is not in tessera"
        for table in tables
        for name, value in table.items()
        if value.partition(":")[0].partition(".")[0] != "tessera"
    ]


def _project_files(root: Path, settings: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the sources of the metadata: the files that pyproject.toml (`settings`) names, and itself."""
    yield Path("pyproject.toml")
    yield Path(settings["project"]["readme"])
    for pattern in settings["project"]["license-files"]:
        yield from (path.relative_to(root) for path in sorted(root.glob(pattern)))
    dynamic = settings["tool"]["setuptools"].get("dynamic", {})
    for table in (*dynamic.values(), *dynamic.get("optional-dependencies", {}).values()):
        yield from map(Path, table.get("file", ()))
