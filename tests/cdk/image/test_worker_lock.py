"""The worker's lock: what the image installs is complete, pinned as everywhere else, and hashed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import Environment, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cdk.wheels import CONSTRAINTS, ROOT
from tests.cdk.test_bundling import OURS, reached
from tools.locks.entries import PYTHON, read_entries
from tools.locks.worker import LEFT_OUT, LOCKS, PARTS, WANTED, choose_part, read_lock

#: Markers of requirements as the image evaluates them, whatever machine this is.
IMAGE: Environment = {
    **default_environment(),
    "python_version": PYTHON,
    "python_full_version": f"{PYTHON}.15",
    "sys_platform": "linux",
    "os_name": "posix",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
}
LOCKED = read_entries(read_lock())


def wanted() -> list[Requirement]:
    lines = (line.partition("#")[0].strip() for line in WANTED.read_text().splitlines())
    return [Requirement(line) for line in lines if line]


def needs(requirement: Requirement) -> Iterator[Requirement]:
    """What a distribution needs on its part, as it says itself where it is installed."""
    for text in metadata.requires(requirement.name) or []:
        needed = Requirement(text)
        extras = ("", *requirement.extras)
        if needed.marker is None or any(needed.marker.evaluate({**IMAGE, "extra": extra}) for extra in extras):
            yield needed


def test_every_line_is_a_pin_with_hashes_and_names_no_index() -> None:
    text = read_lock()
    assert len(LOCKED) == sum(1 for line in text.splitlines() if "==" in line) > 30
    assert "://" not in text
    assert "index" not in text.replace("# What the worker's image installs.", "")


@pytest.mark.parametrize("part", PARTS)
def test_a_package_is_in_the_file_of_its_layer(part: str) -> None:
    names = read_entries((LOCKS / f"{part}.lock").read_text())
    assert names
    assert {choose_part(name) for name in names} == {part}


def test_versions_are_those_of_the_constraints() -> None:
    pins = (line.partition("==") for line in CONSTRAINTS.read_text().splitlines() if "==" in line)
    constraints = {canonicalize_name(name): version for name, _, version in pins}
    assert {name: version for name, (version, _) in LOCKED.items()} == {
        name: constraints.get(canonicalize_name(name)) for name in LOCKED
    }


def test_the_lock_holds_the_requirements_with_all_that_they_need_but_what_is_left_out() -> None:
    open_ones, closure = wanted(), dict[str, Requirement]()
    while open_ones:
        one = open_ones.pop()
        if str(one) not in closure:
            closure[str(one)] = one
            open_ones.extend(needs(one))
    needed = {canonicalize_name(one.name) for one in closure.values()}
    assert needed - {*LEFT_OUT} == {canonicalize_name(name) for name in LOCKED}
    assert needed >= {*LEFT_OUT}


def sources() -> list[Path]:
    """The worker's own modules."""
    return sorted(path for package in ("inference", "gpu_worker") for path in (ROOT / package).rglob("*.py"))


def test_whatever_the_worker_imports_is_in_the_lock() -> None:
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sources()]
    imported = {module.partition(".")[0]: by for module, by in reached(ROOT, modules)}
    distributions, locked = metadata.packages_distributions(), {canonicalize_name(name) for name in LOCKED}
    foreign = {
        top: by
        for top, by in imported.items()
        if top not in {*OURS, "inference", "gpu_worker", *sys.stdlib_module_names}
    }
    assert {"torch", "numpy", "boto3"} <= foreign.keys()
    assert {
        top: by for top, by in foreign.items() if not locked & {canonicalize_name(one) for one in distributions[top]}
    } == {}


def test_nothing_asks_for_a_compiler_at_run_time() -> None:
    wanting = re.compile(r"torch\.compile\b|\bimport triton\b|cpp_extension|\b_inductor\b|backend=.inductor")
    assert [path.name for path in sources() if wanting.search(path.read_text())] == []
