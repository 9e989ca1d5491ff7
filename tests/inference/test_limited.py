from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from inference.limited import Limits, run_limited
from wsi.errors import ModelError, RejectReason, SlideRejected

ENOUGH = Limits(seconds=60, bytes=8 * 1024**3)


def hoard() -> None:
    held = []
    while True:
        held.append(b"\1" * 10**7)


def refuse() -> None:
    raise SlideRejected(RejectReason.NO_MPP, "The file does not say its scale.")


def test_result_and_error_of_the_process_are_those_of_the_function():
    assert run_limited(ENOUGH, pow, 2, 10) == 1024
    with pytest.raises(SlideRejected, match="its scale") as caught:
        run_limited(ENOUGH, refuse)
    assert caught.value.reason is RejectReason.NO_MPP


def test_function_that_never_returns_is_ended_at_the_limit():
    with pytest.raises(ModelError, match=r"did not finish within 0\.05 minutes and was stopped"):
        run_limited(Limits(seconds=3, bytes=ENOUGH.bytes), time.sleep, 10**6)
    assert multiprocessing.active_children() == []


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
def test_function_that_takes_ever_more_memory_is_ended_at_the_limit():
    with pytest.raises(ModelError, match="more than 1 GiB of memory and was stopped"):
        run_limited(Limits(seconds=60, bytes=1024**3), hoard)


def test_process_that_crashes_ends_with_a_sentence():
    with pytest.raises(ModelError, match="ended with status 7: it crashed"):
        run_limited(ENOUGH, os._exit, 7)
