"""A venv that holds a wheel and what its metadata requires, and nothing else: no extra, and none of the tools here.

Nothing is fetched: the required distributions are linked from the environment that runs the tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement


def required(requirements: list[str]) -> dict[str, Distribution]:
    """Return the distributions that meet the requirements here, with all that these require."""
    found: dict[str, Distribution] = {}
    waiting, seen = [Requirement(text) for text in requirements], set[tuple[str, str]]()
    while waiting:
        wanted = waiting.pop()
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        found[name] = here = distribution(wanted.name)
        assert wanted.specifier.contains(here.version), f"{wanted} is asked for, and {here.version} is here"
        for extra in ("", *wanted.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            below = map(Requirement, here.requires or ())
            waiting += [each for each in below if each.marker is None or each.marker.evaluate({"extra": extra})]
    return found


class BareVenv:
    def __init__(self, folder: Path) -> None:
        venv.create(folder, symlinks=True)
        self.python = folder / "bin" / "python"
        self.tessera = folder / "bin" / "tessera"
        self.packages = next(folder.glob("lib/python*/site-packages"))
        self._links = folder / "links"
        self._links.mkdir()
        (self.packages / "links.pth").write_text(f"{self._links}\n")

    def install(self, wheel: Path) -> None:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", str(self.python)]
        subprocess.run([*pip, "install", "--no-deps", "--no-index", "--no-compile", str(wheel)], check=True)
        (metadata,) = self.packages.glob("tessera_wsi-*.dist-info")
        stated = [Requirement(text) for text in Distribution.at(metadata).requires or ()]
        base = [str(one) for one in stated if one.marker is None or one.marker.evaluate({"extra": ""})]
        for here in required(base).values():
            for name in {Path(str(file)).parts[0] for file in here.files or ()} - {"..", "__pycache__"}:
                (self._links / name).symlink_to(str(here.locate_file(name)))
