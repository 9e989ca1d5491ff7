"""An event source mapping: what the function names as failed comes again, the rest is deleted."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta

import pytest

from adapters.settings.functions import TIMEOUTS
from adapters.settings.queues import QueueFunction
from lambdas.logs import make_logger
from lambdas.queues.events import make_queue_handler
from local.pollers import Mapped, QueuePoller, Schedule
from tests.fakes.queues import MemoryQueues

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Clock:
    def __init__(self):
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queues(clock):
    return MemoryQueues(clock, {"plan": 2})


def poller(queues, handler, *, batch_size=10):
    function = QueueFunction(name="plan", timeout_seconds=10, at_once=1, batch_size=batch_size)
    return QueuePoller(queues, Mapped(queue="plan", function=function, handler=handler))


def send(queues, *names):
    for name in names:
        queues.send("plan", {"v": 1, "job_id": name}, group="t", traceparent=TRACE)


def test_the_event_is_what_sqs_sends(queues):
    events = []
    send(queues, "a")
    assert poller(queues, lambda event, context: events.append(event) or {}).poll() == 1
    (record,) = events[0]["Records"]
    assert json.loads(record["body"]) == {"v": 1, "job_id": "a"}
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert record["messageAttributes"]["traceparent"]["stringValue"] == TRACE
    assert record["eventSource"] == "aws:sqs"


def test_only_the_failed_message_comes_again_and_ends_among_the_dead_letters(queues, clock):
    """With the real batch handler of the Lambdas."""
    tried = []

    def work(body, traceparent):
        tried.append(body["job_id"])
        if body["job_id"] == "bad":
            raise ValueError("bad")

    one = poller(queues, make_queue_handler(work, make_logger("test")))
    send(queues, "good", "bad", "fine")
    one.poll()
    assert tried == ["good", "bad", "fine"]
    assert queues.depth("plan") == 1
    clock.now += timedelta(seconds=61)
    one.poll()
    assert tried[3:] == ["bad"]
    clock.now += timedelta(seconds=61)
    assert one.poll() == 0
    assert queues.depth("plan-dlq") == 1


def test_a_failed_message_stays_hidden_for_six_times_the_timeout(queues, clock):
    def fail(event, context):
        raise RuntimeError("out of memory")

    send(queues, "a")
    one = poller(queues, fail)
    assert one.poll() == 1
    clock.now += timedelta(seconds=59)
    assert one.poll() == 0
    clock.now += timedelta(seconds=1)
    assert one.poll() == 1


@pytest.mark.parametrize(
    "answer", [{"batchItemFailures": [{"itemIdentifier": "unknown"}]}, {"batchItemFailures": [{}]}]
)
def test_an_answer_that_names_a_stranger_fails_the_batch(queues, answer):
    send(queues, "a", "b")
    poller(queues, lambda event, context: answer).poll()
    assert queues.depth("plan") == 2


@pytest.mark.parametrize("answer", [None, {}, {"batchItemFailures": []}, {"batchItemFailures": None}])
def test_an_answer_that_names_nothing_settles_the_batch(queues, answer):
    send(queues, "a", "b")
    poller(queues, lambda event, context: answer).poll()
    assert queues.depth("plan") == 0


def test_a_poller_stops_when_told(queues):
    seen = threading.Event()
    one = poller(queues, lambda event, context: seen.set() or {})
    one.start()
    send(queues, "a")
    assert seen.wait(5)
    one.ask_to_stop()
    one.join()


def test_a_scheduled_function_has_its_own_time_however_often_it_runs():
    left = []
    Schedule(
        "relay", lambda event, context: left.append(context.get_remaining_time_in_millis()) or {}, seconds=0.01
    ).fire()
    assert TIMEOUTS["relay"] * 1000 - 1000 < left[0] <= TIMEOUTS["relay"] * 1000


def test_a_schedule_outlives_a_failure():
    fired = threading.Semaphore(0)

    def fail(event, context):
        assert event["detail-type"] == "Scheduled Event"
        fired.release()
        raise RuntimeError("down")

    schedule = Schedule("sweep", fail, seconds=0.01)
    schedule.start()
    for _ in range(3):
        assert fired.acquire(timeout=5)
    schedule.ask_to_stop()
    schedule.join()
