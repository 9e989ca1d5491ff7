"""What the command says of a job that waits."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tessera.api.rest import RemoteJob
from tessera.api.submission import begin_updates, describe_wait
from tessera.progress import TilesBar
from tests.updates import any_update

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def job(**changes: Any) -> RemoteJob:
    fields: dict[str, Any] = {
        **{"job_id": "job-1", "slide_id": "slide-1", "status": "RUNNING", "version": 3, "progress_seq": 0},
        **{"tiles_planned": 1000, "tiles_inferred": 0, "tiles_unreadable": 0, "reason": None, "sentence": None},
    }
    return RemoteJob(**{**fields, **changes})


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ({}, ""),
        ({"waiting_for": "a worker is starting"}, "a worker is starting"),
        (
            {"waiting_for": "12 jobs are before it", "expected_start_at": "2026-11-30T12:04:10Z"},
            "12 jobs are before it, begins in about 4 min",
        ),
        (
            {"waiting_for": "a worker is about to take it", "expected_start_at": "2026-11-30T11:59:00Z"},
            "a worker is about to take it, begins in a few seconds",
        ),
        (
            {"waiting_for": "its results are being put together", "expected_end_at": "2026-11-30T12:00:21Z"},
            "its results are being put together, ends in about 30 s",
        ),
        (
            {"waiting_for": "1 job is before it", "expected_start_at": "2026-11-30T15:10:00Z"},
            "1 job is before it, begins in about 3 h",
        ),
    ],
)
def test_a_job_says_what_it_waits_for_and_for_how_long(expected: dict[str, Any], said: str) -> None:
    assert describe_wait(job(**expected), NOW) == said


def test_the_bar_shows_the_wait_until_tiles_are_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with TilesBar() as bar:
        show = begin_updates(bar, "scan.svs")
        bar.show_wait("a worker is starting")
        show(any_update(tiles_planned=1000, tiles_inferred=0))
    assert "a worker is starting" in capsys.readouterr().err
    with TilesBar() as bar:
        show = begin_updates(bar, "scan.svs")
        bar.show_wait("a worker is starting")
        show(any_update(tiles_planned=1000, tiles_inferred=10, tiles_per_second=25.0))
        bar.show_wait("")
        show(any_update(tiles_planned=1000, tiles_inferred=20, tiles_per_second=30.0))
    shown = capsys.readouterr().err
    assert "30 tiles/s" in shown
    assert "starting" not in shown
