from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from gpu_worker.health.pulse import Pulse
from gpu_worker.health.watchdog import EXIT_CODE, Watchdog
from wsi.errors import Stuck


def test_silence_for_too_long_is_stuck():
    now = 100.0
    pulse = Pulse(60, clock=lambda: now)
    now += 60
    assert not pulse.is_stuck
    now += 1
    assert pulse.is_stuck
    assert pulse.silent_seconds == 61
    pulse.beat()
    assert not pulse.is_stuck


class Ends:
    """What stands for the end of the process."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.ended = threading.Event()

    def __call__(self, code: int) -> None:
        self.codes.append(code)
        self.ended.set()


def watchdog(pulse: Pulse, ends: Ends, grace_seconds: float) -> Watchdog:
    made = Watchdog(pulse, stage=lambda: "fetch", grace_seconds=grace_seconds, end_process=ends)
    made.start()
    return made


def test_stuck_work_is_settled_once_with_the_stage_that_hangs():
    pulse, ends, settled = Pulse(0.1), Ends(), list[Stuck]()
    freed = threading.Event()

    def settle(error: Stuck) -> None:
        settled.append(error)
        freed.set()  # as the event that stops a run frees it from a read that hangs

    dog = watchdog(pulse, ends, 10)
    with dog.watch(settle):
        assert freed.wait(10)
        time.sleep(0.3)
    dog.end()
    (error,) = settled
    assert "the fetch stage hangs" in error.sentence
    assert ends.codes == []


def test_work_that_beats_is_left_alone():
    pulse, ends, settled = Pulse(0.4), Ends(), list[Stuck]()
    dog = watchdog(pulse, ends, 0.1)
    with dog.watch(settled.append):
        for _ in range(20):
            time.sleep(0.05)
            pulse.beat()
    dog.end()
    assert (settled, ends.codes) == ([], [])


def test_a_worker_without_a_shard_is_left_alone():
    pulse, ends = Pulse(0.05), Ends()
    dog = watchdog(pulse, ends, 0.05)
    with dog.watch(lambda _: None):
        pass
    time.sleep(0.3)
    dog.end()
    assert ends.codes == []


def test_a_worker_that_does_not_end_is_ended_after_its_lease_is_released():
    pulse, ends, order = Pulse(0.1), Ends(), list[str]()
    dog = watchdog(pulse, ends, 0.2)
    with dog.watch(lambda _: order.append("released")):
        time.sleep(0.25)
    assert ends.ended.wait(10)  # the work came back, but something hangs as it is closed
    order.append("ended")
    dog.end()
    assert order == ["released", "ended"]
    assert ends.codes == [EXIT_CODE]


@pytest.mark.parametrize("how", ["raises", "hangs"])
def test_a_ledger_that_does_not_answer_keeps_no_process_that_hangs(how):
    pulse, ends, forever = Pulse(0.1), Ends(), threading.Event()

    def settle(_: Stuck) -> None:
        if how == "raises":
            raise OSError("Postgres is away.")
        forever.wait(30)

    dog = watchdog(pulse, ends, 0.2)
    with dog.watch(settle):
        assert ends.ended.wait(10)
    dog.end()
    forever.set()
    assert ends.codes == [EXIT_CODE]


HANGING = """
import threading
from gpu_worker.health.pulse import Pulse
from gpu_worker.health.watchdog import Watchdog
dog = Watchdog(Pulse(0.2), grace_seconds=0.2)
dog.start()
with dog.watch(lambda error: print("released:", error.sentence, flush=True)):
    threading.Event().wait()
"""


def test_a_real_process_that_hangs_releases_and_exits_non_zero():
    ended = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == EXIT_CODE
    assert ended.stdout.startswith("released: Nothing went forward")
