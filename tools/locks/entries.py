"""Resolves a lock with uv, whatever machine this is, and compares locks. A lock names no package index."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
PYTHON = "3.11"  #: the oldest that anything runs on, and the worker's image's

_ENTRY = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)(?: ; .+)?((?: \\\n +--hash=sha256:[0-9a-f]{64})+)$", re.M)

Locked = Mapping[str, tuple[str, frozenset[str]]]  #: name -> version, sha256 of its files


class NotReached(Exception):
    """The package index does not answer."""


def resolve_packages(
    wanted: Sequence[Path], options: Sequence[str], *, python: str = PYTHON, constraints: Path | None = CONSTRAINTS
) -> str:
    """Resolve the lock of requirements as it would be made now; return its entries as text. Raises NotReached, and
    RuntimeError with uv's message if there is no solution."""
    constrained = () if constraints is None else ("--constraints", constraints)
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("uv"), "pip", "compile", "--quiet"),
            *("--generate-hashes", "--no-header", "--no-annotate", "--python-version", python),
            *(*constrained, *options, *wanted),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if "(Connect)" in done.stderr:
        raise NotReached
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def read_entries(text: str) -> Locked:
    """Return the entries of a lock."""
    found = _ENTRY.finditer(text)
    return {entry[1]: (entry[2], frozenset(re.findall(r"sha256:(\w+)", entry[3]))) for entry in found}


def iterate_texts(text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of each entry of a lock."""
    for entry in _ENTRY.finditer(text):
        yield entry[1], f"{entry[0]}\n"


def describe_differences(locked: Locked, now: Locked) -> list[str]:
    """Describe each difference in a sentence. The index may have added files of a version by now, but removed none."""
    both = sorted({*locked, *now})
    return [
        f"{name}: locked {locked.get(name, ('-',))[0]}, resolved {now.get(name, ('-',))[0]}, or of other hashes."
        for name in both
        if name not in locked or name not in now or locked[name][0] != now[name][0] or locked[name][1] - now[name][1]
    ]
