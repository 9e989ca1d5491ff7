"""Rules of docs and sentences that a tool can hold."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ_BY_PEOPLE = (".md", ".py", ".ts", ".tsx", ".json", ".toml", ".yaml", ".sh", ".graphql")
#: "cannot" is one word, also where a line ends between its halves.
SPLIT = re.compile(r"\b[Cc]an[\s#*/\"]+not\b(?! only)")


def texts() -> list[str]:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in tracked.stdout.splitlines() if name.endswith(READ_BY_PEOPLE)]


def split_in(text: str) -> list[str]:
    return [found[0] for found in SPLIT.finditer(text)]


@pytest.mark.parametrize("text", ["a slide can not be read", "Can not", "that it can\n    # not read", 'can "\n "not'])
def test_the_rule_finds_what_it_is_for(text: str) -> None:
    assert split_in(text)


def test_cannot_is_one_word() -> None:
    here = Path(__file__).relative_to(ROOT).as_posix()
    wrong = {name: found for name in texts() if name != here and (found := split_in((ROOT / name).read_text()))}
    assert wrong == {}
