from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from gpu_worker.drain import Drain, should_leave


@pytest.mark.parametrize(
    ("draining", "idle_for", "idle_seconds", "leaving"),
    [
        (False, 0.0, 90.0, False),
        (False, 90.0, 90.0, True),
        (False, 1e9, 0.0, False),
        (True, 0.0, 0.0, True),
        (True, 0.0, 90.0, True),
    ],
)
def test_a_worker_leaves_when_told_or_without_work(draining, idle_for, idle_seconds, leaving):
    assert should_leave(draining=draining, idle_for=idle_for, idle_seconds=idle_seconds) is leaving


def test_the_request_reaches_those_who_follow_before_and_after():
    drain, early, late, gone = Drain(), threading.Event(), threading.Event(), threading.Event()
    drain.follow(early)
    drain.follow(gone)
    drain.unfollow(gone)
    drain.request()
    drain.follow(late)
    assert (early.is_set(), late.is_set(), gone.is_set(), drain.requested) == (True, True, False, True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_requests_the_drain_while_the_main_thread_waits(number):
    program = textwrap.dedent(
        """
        import sys
        from gpu_worker.drain import Drain, drain_on_signals
        drain = Drain()
        drain_on_signals(drain)
        sys.stdout.write("ready\\n"); sys.stdout.flush()
        sys.exit(0 if drain.wait(20) else 1)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, number)
        assert process.wait(10) == 0
