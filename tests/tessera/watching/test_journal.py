"""What a watch remembers after a crash."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tessera.local_run.outcomes import Outcome, SlideOutcome
from tessera.watching import journal
from tessera.watching.journal import NAME, Journal, JournalEntry

BEGUN = JournalEntry(key="/in/a.svs", name="a", version="v1", task="t")
DONE = replace(BEGUN, outcome=Outcome.COMPLETED, tiles=12, unreadable=1, seconds=3.5)


def test_last_entry_of_each_slide_counts_after_a_restart(tmp_path: Path) -> None:
    first = Journal(tmp_path)
    for entry in (BEGUN, replace(BEGUN, key="/in/b.svs", name="b"), replace(BEGUN, slide_id="s"), DONE):
        first.record(entry)
    again = Journal(tmp_path)
    assert again.entries == first.entries
    assert again.entries["/in/a.svs"] == DONE


def test_next_attempt_keeps_the_upload_and_counts_failures() -> None:
    failed = replace(BEGUN, slide_id="s", job_id="j").with_outcome(
        SlideOutcome(name="a", outcome=Outcome.FAILED, reason="x")
    )
    assert failed.make_retry() == replace(BEGUN, slide_id="s", attempt=1)
    assert replace(BEGUN, slide_id="s", attempt=1).make_retry() == replace(BEGUN, slide_id="s", attempt=1)


@pytest.mark.parametrize("cut", range(1, 60))
def test_line_that_a_crash_cut_off_leaves_the_one_before_and_what_follows(tmp_path: Path, cut: int) -> None:
    Journal(tmp_path).record(BEGUN)
    whole = len((tmp_path / NAME).read_bytes())
    Journal(tmp_path).record(DONE)
    data = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(data[: whole + cut])
    again = Journal(tmp_path)
    assert again.entries == {"/in/a.svs": BEGUN}
    again.record(DONE)
    assert Journal(tmp_path).entries == {"/in/a.svs": DONE}


def test_disk_that_was_full_for_a_while_costs_one_line_only(tmp_path: Path) -> None:
    kept = Journal(tmp_path)
    kept.record(BEGUN)
    path = tmp_path / NAME
    path.rename(tmp_path / "aside")
    path.mkdir()  # stands for a disk that takes nothing
    with pytest.raises(OSError):
        kept.record(DONE)
    path.rmdir()
    path.write_bytes((tmp_path / "aside").read_bytes() + b'{"key": "/in/a.svs", "na')
    kept.record(replace(BEGUN, key="/in/b.svs", name="b"))
    assert set(Journal(tmp_path).entries) == {"/in/a.svs", "/in/b.svs"}


@pytest.mark.parametrize(
    ("outcome", "reason", "is_final"),
    [
        (None, None, False),
        (Outcome.COMPLETED, None, True),
        (Outcome.REJECTED, "no_mpp", True),
        (Outcome.LEFT_OUT, "hidden", True),
        (Outcome.FAILED, "poison_shard", False),
        (Outcome.FAILED, "cancelled", True),
    ],
)
def test_only_failures_and_what_was_begun_are_tried_again(
    outcome: Outcome | None, reason: str | None, is_final: bool
) -> None:
    assert replace(BEGUN, outcome=outcome, reason=reason).is_final is is_final


def test_names_that_are_no_unicode_come_back(tmp_path: Path) -> None:
    entry = replace(BEGUN, key="/in/\udcfcber.svs")
    Journal(tmp_path).record(entry)
    assert Journal(tmp_path).entries == {entry.key: entry}


def test_fields_and_outcomes_of_a_newer_version_stop_nothing(tmp_path: Path) -> None:
    Journal(tmp_path).record(BEGUN)
    with (tmp_path / NAME).open("a") as file:
        file.write(json.dumps({**{"key": "b", "name": "b", "version": "v", "task": "t"}, "mood": 1}) + "\n")
        file.write(json.dumps({"key": "c", "name": "c", "version": "v", "task": "t", "outcome": "pondered"}) + "\n")
    assert set(Journal(tmp_path).entries) == {"/in/a.svs", "b"}


def test_lines_that_no_longer_count_are_dropped_at_a_restart(tmp_path: Path) -> None:
    kept = Journal(tmp_path)
    kept.record(BEGUN)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes() * (journal.MOST_STALE + 2))
    assert Journal(tmp_path).entries == {BEGUN.key: BEGUN}
    assert path.read_bytes().count(b"\n") == 1
