"""The locks: complete, pinned as everywhere else, hashed, and without an index's address."""

from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.locks.entries import CONSTRAINTS, ROOT, describe_differences, read_entries
from tools.locks.environments import SETS, InstalledSet


def pins() -> dict[str, str]:
    lines = (line.partition("==") for line in CONSTRAINTS.read_text().splitlines() if "==" in line)
    return {canonicalize_name(name): version for name, _, version in lines}


def named(one: InstalledSet) -> set[str]:
    """The packages that the requirements name, and the files that they include."""
    found, waiting = set[str](), list(one.wanted)
    while waiting:
        path = waiting.pop()
        for line in (line.partition("#")[0].strip() for line in path.read_text().splitlines()):
            if line.startswith("-r "):
                waiting.append(path.parent / line.removeprefix("-r "))
            elif line and not line.startswith("-"):
                found.add(canonicalize_name(Requirement(line).name))
    return found


@pytest.mark.parametrize("one", SETS, ids=lambda one: one.name)
def test_every_line_is_a_pin_with_hashes_and_names_no_index(one: InstalledSet) -> None:
    text = one.path.read_text()
    entries = read_entries(text)
    assert len(entries) == sum(1 for line in text.splitlines() if "==" in line and not line.startswith("#")) > 10
    assert all(hashes for _, hashes in entries.values())
    assert "://" not in text


@pytest.mark.parametrize("one", SETS, ids=lambda one: one.name)
def test_a_lock_holds_what_its_requirements_name(one: InstalledSet) -> None:
    assert named(one) <= {canonicalize_name(name) for name in read_entries(one.path.read_text())}


@pytest.mark.parametrize("one", [one for one in SETS if not one.is_apart], ids=lambda one: one.name)
def test_versions_are_those_of_the_constraints(one: InstalledSet) -> None:
    constraints = pins()
    locked = {canonicalize_name(name): version for name, (version, _) in read_entries(one.path.read_text()).items()}
    assert {name: version for name, version in locked.items() if constraints.get(name, version) != version} == {}


def test_make_and_the_image_install_by_hash_alone() -> None:
    """`--no-deps -e .` is this checkout itself."""
    commands = re.findall(r"^\t@.*pip\b.*install.*$|PIP_INSTALL\).*$", (ROOT / "Makefile").read_text(), re.M)
    assert len(commands) >= 5
    assert [one for one in commands if "$(LOCKED)/" not in one and "--no-deps -e ." not in one] == []
    assert "PIP_REQUIRE_HASHES=1" in (ROOT / "gpu_worker/Dockerfile").read_text()


@pytest.mark.parametrize(
    ("now", "named"),
    [
        ({"a": ("1", frozenset("xyz"))}, False),  # one more file
        ({"a": ("1", frozenset("x"))}, True),
        ({"a": ("2", frozenset("xy"))}, True),
        ({}, True),
        ({"a": ("1", frozenset("xy")), "b": ("1", frozenset("z"))}, True),
    ],
)
def test_a_check_names_what_is_no_longer_as_it_was_locked(now, named) -> None:
    assert bool(describe_differences({"a": ("1", frozenset("xy"))}, now)) == named
