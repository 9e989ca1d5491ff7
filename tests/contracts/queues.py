"""What every `Queues` does. A suite gives `queues` (empty queues "plan" and "shards-high", "plan" moving to
"plan-dlq" after two receives) and `pass_time(seconds)`, which may sleep."""

from __future__ import annotations

import json

import pytest

from wsi.errors import LeaseLost
from wsi.ports.queues import BATCH
from wsi.records.notices import OutgoingMessage

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class QueuesContract:
    def receive(self, queues, queue="plan", *, limit=1, visibility=30):
        return queues.receive(queue, limit=limit, wait_seconds=0, visibility_seconds=visibility)

    def send(self, queues, queue="plan", **body):
        queues.send(queue, body, group="tenant", traceparent=TRACE)

    def test_a_message_arrives_with_its_trace(self, queues):
        self.send(queues, v=1, job_id="j")
        (message,) = self.receive(queues)
        assert message.body == {"v": 1, "job_id": "j"}
        assert message.traceparent == TRACE
        assert message.receives == 1
        assert message.sent_at is not None

    def test_a_message_without_trace_arrives(self, queues):
        queues.send("plan", {}, group="tenant", traceparent="")
        (message,) = self.receive(queues)
        assert (message.body, message.traceparent) == ({}, None)

    def test_a_full_batch_arrives_whole_each_message_with_its_trace(self, queues):
        traces = [TRACE, "", *[TRACE.replace("4bf9", f"000{n}") for n in range(BATCH - 2)]]
        batch = [OutgoingMessage(body={"n": n}, group=f"tenant-{n}", traceparent=t) for n, t in enumerate(traces)]
        assert queues.send_batch("shards-high", batch) == {}
        got = {}
        while len(got) < BATCH:
            messages = self.receive(queues, "shards-high", limit=10)
            assert messages, f"only {len(got)} arrived"
            got.update({message.body["n"]: message.traceparent for message in messages})
        assert got == {n: trace or None for n, trace in enumerate(traces)}

    def test_an_empty_queue_gives_nothing(self, queues):
        assert not self.receive(queues)

    def test_queues_are_apart(self, queues):
        self.send(queues, "plan", a=1)
        assert not self.receive(queues, "shards-high")

    def test_a_received_message_is_hidden_and_comes_back(self, queues, pass_time):
        self.send(queues, a=1)
        (first,) = self.receive(queues, visibility=1)
        assert not self.receive(queues)
        pass_time(1.2)
        (second,) = self.receive(queues)
        assert second.receives == 2
        assert second.receipt != first.receipt

    def test_a_deleted_message_is_gone(self, queues, pass_time):
        self.send(queues, a=1)
        (message,) = self.receive(queues, visibility=1)
        queues.delete("plan", message.receipt)
        queues.delete("plan", message.receipt)
        pass_time(1.2)
        assert not self.receive(queues)

    def test_extending_keeps_it_hidden(self, queues, pass_time):
        self.send(queues, a=1)
        (message,) = self.receive(queues, visibility=1)
        queues.extend("plan", message.receipt, seconds=30)
        pass_time(1.2)
        assert not self.receive(queues)

    def test_extending_by_nothing_gives_it_back_at_once(self, queues):
        self.send(queues, a=1)
        (message,) = self.receive(queues)
        queues.extend("plan", message.receipt, seconds=0)
        assert len(self.receive(queues)) == 1

    def test_extending_a_deleted_message_says_that_it_is_lost(self, queues):
        self.send(queues, a=1)
        (message,) = self.receive(queues)
        queues.delete("plan", message.receipt)
        with pytest.raises(LeaseLost):
            queues.extend("plan", message.receipt, seconds=30)

    def test_a_batch_has_at_most_the_limit(self, queues):
        for n in range(5):
            self.send(queues, "shards-high", n=n)
        got = self.receive(queues, "shards-high", limit=3)
        assert len(got) <= 3
        rest = self.receive(queues, "shards-high", limit=10)
        assert {message.body["n"] for message in (*got, *rest)} == set(range(5))

    def test_a_message_received_too_often_moves_to_the_dead_letters(self, queues):
        self.send(queues, a=1)
        for _ in range(2):
            (message,) = self.receive(queues)
            queues.extend("plan", message.receipt, seconds=0)
        assert not self.receive(queues)
        (dead,) = self.receive(queues, "plan-dlq")
        assert (dead.body, json.loads(dead.text)) == ({"a": 1}, {"a": 1})
        assert dead.message_id == message.message_id != ""
