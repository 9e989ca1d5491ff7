"""The contents of each shipped part: packages with their versions, licences and the hashes of their files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from tools.locks import worker
from tools.locks.entries import ROOT, Locked, read_entries
from tools.locks.environments import SETS
from tools.notices import find_licence, list_page_packages, resolve_requirements

FUNCTIONS = ("api", "migrations", "slides", "stitch")


@dataclass(frozen=True, kw_only=True, slots=True)
class ShippedPackage:
    kind: str  #: type of a package URL: pypi or npm
    name: str
    version: str
    licence: str  #: an SPDX expression
    hashes: frozenset[str]  #: sha256 of the files that may be installed


@dataclass(frozen=True, kw_only=True, slots=True)
class ShippedPart:
    name: str  #: also of the file
    is_image: bool
    packages: tuple[ShippedPackage, ...]
    base: str | None = None  #: of an image: packages of its system are its base's


def list_parts() -> Iterator[ShippedPart]:
    """Yield the worker's image, each bundle of the functions, and the page."""
    locked = read_entries(worker.read_lock())
    yield ShippedPart(name="worker", is_image=True, packages=_read_python(locked, set(locked)), base=read_base(ROOT))
    [functions] = [one for one in SETS if one.name == "functions"]
    for name in FUNCTIONS:
        wanted = resolve_requirements((f"requirements/lambda-{name}.txt",))
        yield ShippedPart(
            name=name, is_image=False, packages=_read_python(read_entries(functions.path.read_text()), wanted)
        )
    yield ShippedPart(name="page", is_image=False, packages=tuple(_list_page()))


def read_base(root: Path) -> str:
    """Return the image that the worker's Dockerfile begins with, where a deployment names no other."""
    lines = (root / "gpu_worker/Dockerfile").read_text().splitlines()
    [base] = [line.removeprefix("ARG BASE=") for line in lines if line.startswith("ARG BASE=")]
    return base


def _read_python(locked: Locked, wanted: set[str]) -> tuple[ShippedPackage, ...]:
    entries = {canonicalize_name(name): entry for name, entry in locked.items()}
    names = {canonicalize_name(name) for name in wanted}
    return tuple(
        ShippedPackage(kind="pypi", name=name, version=version, licence=find_licence(name), hashes=hashes)
        for name, (version, hashes) in sorted(entries.items())
        if name in names
    )


def _list_page() -> Iterator[ShippedPackage]:
    for name, version, licence in list_page_packages():
        yield ShippedPackage(kind="npm", name=name, version=version, licence=licence, hashes=frozenset())
