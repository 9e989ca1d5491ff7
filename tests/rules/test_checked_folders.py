"""What `make check` looks at. Pyright's folders stand in pyproject.toml for editors, in the Makefile in two shares."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def read_folders_of_makefile(text: str) -> list[str]:
    return [folder for line in re.findall(r"/pyright (.+)", text) for folder in line.split()]


def read_folders_of_pyproject(text: str) -> list[str]:
    return tomllib.loads(text)["tool"]["pyright"]["include"]


def test_make_checks_the_types_of_every_folder_that_editors_check() -> None:
    makefile, pyproject = (ROOT / "Makefile").read_text(), (ROOT / "pyproject.toml").read_text()
    assert sorted(read_folders_of_makefile(makefile)) == sorted(read_folders_of_pyproject(pyproject))


def test_a_folder_that_only_editors_check_is_found() -> None:
    planted = "check-types:\n\t@$(BIN)/pyright wsi local\n"
    assert read_folders_of_makefile(planted) == ["wsi", "local"]
