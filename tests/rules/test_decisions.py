"""docs/decisions/README.md lists every decision once, with its title and what changed it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

DECISIONS = Path(__file__).parents[2] / "docs/decisions"
INDEX = (DECISIONS / "README.md").read_text()
ENTRY = re.compile(
    r"^- \[(\d+)\. (.+)\]\((\d{4}-[a-z0-9-]+\.md)\)\. .+?(?: \*(Superseded|Changed) by ([\d, ]+)\.\*)?$",
    re.MULTILINE,
)
#: At the top of a decision that a later one changed.
NOTE = re.compile(r"^\*\*(Superseded|Changed) by\*\* (.+)\.$", re.MULTILINE)


def records() -> dict[str, str]:
    return {path.name: path.read_text() for path in DECISIONS.glob("[0-9]*.md")}


def test_every_decision_stands_in_the_index_once() -> None:
    listed = Counter(entry[3] for entry in ENTRY.finditer(INDEX))
    assert set(listed.values()) == {1}
    assert set(listed) == set(records())
    assert len(listed) == INDEX.count("\n- ")


def test_the_index_has_the_titles_and_numbers_of_the_decisions() -> None:
    texts = records()
    for entry in ENTRY.finditer(INDEX):
        assert texts[entry[3]].splitlines()[0] == f"# {entry[1]}. {entry[2]}"
        assert entry[3].startswith(f"{int(entry[1]):04d}-")


def test_the_index_and_the_decision_name_the_same_later_ones() -> None:
    texts = records()
    for entry in ENTRY.finditer(INDEX):
        note = NOTE.search(texts[entry[3]])
        said = (note[1], ", ".join(re.findall(r"\[decision (\d+)\]", note[2]))) if note else (None, None)
        assert said == (entry[4], entry[5]), entry[3]


def test_a_later_decision_is_later() -> None:
    for entry in ENTRY.finditer(INDEX):
        assert all(int(later) > int(entry[1]) for later in re.findall(r"\d+", entry[5] or ""))


def test_titles_are_short() -> None:
    assert [entry[2] for entry in ENTRY.finditer(INDEX) if len(entry[2]) > 80] == []
