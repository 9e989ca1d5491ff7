"""One trace id from the request to the last log line."""

from __future__ import annotations

import pytest

from wsi.tracing import continue_trace, make_traceparent

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_callers_trace_goes_on_with_a_span_of_ours():
    ours = continue_trace(GIVEN)
    assert ours.split("-")[:2] == GIVEN.split("-")[:2]
    assert ours.split("-")[2] != GIVEN.split("-")[2]


@pytest.mark.parametrize(
    "broken", [None, "", "00-xyz", GIVEN.upper(), "00-" + "0" * 32 + "-b7ad6b7169203331-01", GIVEN + "\n"]
)
def test_a_malformed_trace_begins_a_new_one(broken):
    ours = continue_trace(broken)
    assert continue_trace(ours).split("-")[1] == ours.split("-")[1] != GIVEN.split("-")[1]


def test_every_new_trace_is_another():
    assert make_traceparent() != make_traceparent()
