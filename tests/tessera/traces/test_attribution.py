"""Where the time went: every moment counts once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera.traces.attribution import NOTHING, OUTBOX, QUEUES, split_time
from tests.tessera.traces.spans import make_trace, span

TIMES = st.floats(0, 100, allow_nan=False)


def test_the_time_of_a_job_by_service_and_by_what_was_waited_for():
    assert split_time(make_trace()) == pytest.approx(
        {
            NOTHING: 2.0,  # the client uploads, from 1.0 to 3.0
            QUEUES: 3.9,  # 5.0 to 7.0, and 7.1 to 9.0, when the lost worker's message came again
            "api": 2.5,
            "gpu_worker": 1.1,
            OUTBOX: 0.5,
        }
    )


def test_work_wins_over_waits():
    spans = [span(1, "gpu_worker", "queue shards-normal", 0.0, 10.0), span(2, "plan", "plan", 2.0, 3.0)]
    assert split_time(spans) == {QUEUES: 9.0, "plan": 1.0}


@given(st.lists(st.tuples(TIMES, TIMES, st.sampled_from(["plan", "queue plan", "outbox plan"])), min_size=1))
def test_the_parts_add_up_to_the_whole(given_spans):
    spans = [span(n, "s", name, min(a, b), max(a, b)) for n, (a, b, name) in enumerate(given_spans)]
    whole = max(one.ended for one in spans) - min(one.began for one in spans)
    seconds = split_time(spans)
    assert sum(seconds.values()) == pytest.approx(whole, abs=1e-6)
    assert list(seconds.values()) == sorted(seconds.values(), reverse=True)


def test_nothing_took_no_time():
    assert split_time([]) == {}
