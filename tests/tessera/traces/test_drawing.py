"""The waterfall as text."""

from __future__ import annotations

import pytest

from tessera.traces.drawing import draw_attribution, draw_waterfall
from tessera.traces.selection import place_spans
from tests.tessera.traces.spans import make_trace, span


def draw(spans, *, width: int) -> list[str]:
    return [line.plain for line in draw_waterfall(place_spans(spans, job_ended=True), width=width)]


@pytest.mark.parametrize("width", [90, 120, 200])
def test_lines_fit_the_terminal(width):
    lines = draw(make_trace(), width=width)
    assert len(lines) == len(make_trace())
    assert max(map(len, lines)) <= width
    assert max(map(len, lines)) >= width - 2  # the last bar ends at its edge


def test_a_narrow_terminal_still_gets_bars():
    assert all(set(line) & set("█░▒") for line in draw(make_trace(), width=10))


def test_waits_sums_and_lost_workers_look_different():
    lines = draw(make_trace(), width=120)
    by_mark = {mark: [line.split("  gpu")[0].strip() for line in lines if mark in line] for mark in "░▒✗"}
    assert len(by_mark["░"]) == 3
    assert by_mark["▒"] == ["forward"]
    assert by_mark["✗"] == ["lease shard 0, attempt 1 ✗ worker lost"]
    assert any("received 2 times" in line for line in by_mark["░"])


def test_a_failure_is_marked_with_its_code():
    (line,) = draw([span(1, "stitch", "stitch", 0.0, 1.0, error="stitching_failed")], width=100)
    assert "stitch ✗ stitching_failed" in line


def test_a_bar_begins_and_ends_at_its_share_of_the_time():
    first, second = draw([span(1, "a", "x", 0.0, 5.0), span(2, "a", "y", 5.0, 10.0)], width=100)
    start = first.index("█")
    assert second.index("█") - start == first.count("█") == second.count("█")


def test_nothing_is_drawn_of_nothing_and_a_moment_has_a_bar():
    assert draw([], width=80) == []
    assert "█" in draw([span(1, "a", "x", 1.0, 1.0)], width=80)[0]


def test_shares_add_up():
    lines = list(draw_attribution({"gpu_worker": 3.0, "waiting in queues": 1.0}))
    assert lines == ["gpu_worker            3.000 s  75.0%", "waiting in queues     1.000 s  25.0%"]
