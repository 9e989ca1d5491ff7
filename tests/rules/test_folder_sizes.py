"""No folder of the product or of its tests holds more modules than one can take in at a glance."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
LIMIT = 20
#: Revisions are numbered, one for each change of the schema, and nobody reads them side by side.
NUMBERED = "adapters/migrations/versions"
FOLDERS = ("wsi", "adapters", "lambdas", "inference", "gpu_worker", "tessera", "local", "cdk", "web/src", "tests")


def is_module(path: PurePosixPath) -> bool:
    """Return whether somebody reads it as a module: not a package's front door, and not a component's test."""
    return path.suffix in {".py", ".ts", ".tsx"} and path.name != "__init__.py" and ".test." not in path.name


def too_large(names: Iterable[str]) -> dict[str, int]:
    sizes = Counter(path.parent.as_posix() for path in map(PurePosixPath, names) if is_module(path))
    return {folder: size for folder, size in sizes.items() if size > LIMIT and folder != NUMBERED}


def test_the_rule_finds_a_folder_that_is_too_large() -> None:
    modules = [f"wsi/planning/m{number}.py" for number in range(21)]
    assert too_large(modules) == {"wsi/planning": 21}
    assert too_large([*modules[1:], "wsi/planning/__init__.py", "wsi/planning/m.test.ts"]) == {}


def test_the_rule_finds_a_folder_of_tests_that_is_too_large() -> None:
    modules = [*(f"tests/cdk/test_{number}.py" for number in range(20)), "tests/cdk/conftest.py"]
    assert too_large(modules) == {"tests/cdk": 21}
    assert too_large(["tests/cdk/data/test_20.py", *modules[1:]]) == {}


def test_no_folder_holds_more_than_20_modules() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *FOLDERS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert [one for one in FOLDERS if not any(name.startswith(f"{one}/") for name in listed)] == [], "nothing is there"
    assert too_large(name for name in listed if (ROOT / name).exists()) == {}
