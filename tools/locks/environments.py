"""requirements/locks: the packages of each environment that the Makefile and the bundles of the functions install.

They hold for Linux, macOS and Windows and for Python 3.11 or newer, by markers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tools.locks.entries import CONSTRAINTS, PYTHON, ROOT, iterate_texts, resolve_packages

LOCKS = ROOT / "requirements/locks"
OWN_PACKAGE = "tessera-wsi"  #: installed from the checkout, which has no hash


@dataclass(frozen=True, kw_only=True, slots=True)
class InstalledSet:
    name: str
    wanted: tuple[Path, ...]
    is_apart: bool = False  #: it has versions of its own, not those of constraints.txt
    python: str = PYTHON  #: the oldest that it runs on
    options: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return LOCKS / f"{self.name}.lock"

    @property
    def header(self) -> str:
        wanted = ", ".join(path.relative_to(ROOT).as_posix() for path in self.wanted)
        return f"# Made by `make lock` from {wanted}{'' if self.is_apart else ' and constraints.txt'}.\n"

    def resolve(self) -> str:
        """Resolve the lock as it would be made now; return its entries as text."""
        options = ("--universal", "--no-emit-package", OWN_PACKAGE, *self.options)
        constraints = None if self.is_apart else CONSTRAINTS
        return resolve_packages(self.wanted, options, python=self.python, constraints=constraints)

    def write(self, text: str) -> None:
        LOCKS.mkdir(exist_ok=True)
        self.path.write_text(self.header + "".join(entry for _, entry in iterate_texts(text)))


SETS = (
    InstalledSet(name="demo", wanted=(ROOT / "requirements/demo.txt",)),
    InstalledSet(name="all", wanted=(ROOT / "requirements.txt",)),
    InstalledSet(
        name="functions",
        wanted=tuple(sorted((ROOT / "requirements").glob("lambda-*.txt"))),
        options=("--only-binary", ":all:"),
    ),
    InstalledSet(name="ministack", wanted=(ROOT / "requirements/ministack.txt",), is_apart=True),
    InstalledSet(name="docs", wanted=(ROOT / "requirements/docs.txt",), is_apart=True, python="3.11.5"),
    InstalledSet(name="security", wanted=(ROOT / "requirements/security.txt",), is_apart=True),
)
