"""The relay's run: what goes first, how many at once, when it ends, and what a failure at any point leaves."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.settings.functions import TIMEOUTS
from tests.installation import HOSPITAL
from tests.wsi.notices.outgoing import RUN_SECONDS, Dead, DyingLedger, Outgoing
from wsi.errors import SourceUnavailable
from wsi.notices.outbox import CLAIM_MARGIN_SECONDS, CLAIM_ROWS, SETTLE_SECONDS, Relayed
from wsi.notices.sending import SENDS_AT_ONCE
from wsi.records.notices import PUSH, REVOCATION

PATIENCE = 10.0  #: s that a test waits for threads that should meet


def test_messages_go_in_batches_of_one_queue():
    outgoing = Outgoing()
    names = [outgoing.write("plan") for _ in range(23)] + [outgoing.write("stitch") for _ in range(3)]
    assert outgoing.run() == Relayed(sent=26)
    assert sorted(outgoing.batches) == [3, 3, 10, 10]
    assert sorted(outgoing.sent) == sorted(names)


def test_a_message_is_of_the_group_of_its_tenant():
    """So that the queue is fair between tenants (F-8)."""
    groups: list[tuple[str, str]] = []

    class Grouped(Outgoing):
        def send_batch(self, queue, messages):
            groups.extend((queue, message.group) for message in messages)
            return super().send_batch(queue, messages)

    outgoing = Grouped()
    for topic in ("plan", "plan", "stitch"):
        outgoing.write(topic)
    assert outgoing.run() == Relayed(sent=3)
    assert sorted(groups) == [("plan", str(HOSPITAL)), ("plan", str(HOSPITAL)), ("stitch", str(HOSPITAL))]


def test_a_message_does_not_wait_for_pushes_that_were_written_before_it():
    is_planned = threading.Event()

    class PushesLast(Outgoing):
        def send_batch(self, queue, messages):
            refused = super().send_batch(queue, messages)
            is_planned.set()
            return refused

        def publish(self, update):
            assert is_planned.wait(PATIENCE)
            super().publish(update)

    outgoing = PushesLast()
    for job in range(2 * CLAIM_ROWS):
        outgoing.write(PUSH, job=f"{job}")
    outgoing.write("plan")
    assert outgoing.run() == Relayed(sent=2 * CLAIM_ROWS + 1)


def test_a_revocation_goes_before_messages_and_pushes_that_were_written_before_it():
    is_revoked = threading.Event()

    class RevokesFirst(Outgoing):
        def end_subscriptions(self, revocation):
            super().end_subscriptions(revocation)
            is_revoked.set()

        def send_batch(self, queue, messages):
            assert is_revoked.wait(PATIENCE)
            return super().send_batch(queue, messages)

        def publish(self, update):
            assert is_revoked.wait(PATIENCE)
            super().publish(update)

    outgoing = RevokesFirst()
    for topic in (PUSH, "plan", REVOCATION):
        outgoing.write(topic)
    assert outgoing.run() == Relayed(sent=3)


def test_a_revocation_that_was_refused_is_sent_by_the_next_run_however_soon_that_is():
    is_down = True
    outgoing = Outgoing(is_refused=lambda name: is_down)
    name, push = outgoing.write(REVOCATION), outgoing.write(PUSH)
    assert outgoing.run() == Relayed(failed=2)
    is_down = False
    assert outgoing.run() == Relayed(sent=1), "the update waits until its claim has run out"
    assert outgoing.sent == [name]
    outgoing.clock.pass_seconds(RUN_SECONDS + CLAIM_MARGIN_SECONDS + 1)
    assert outgoing.run() == Relayed(sent=1)
    assert outgoing.sent == [name, push]


def test_pushes_of_different_jobs_go_at_once_and_no_more_than_the_bound():
    outgoing = Outgoing()
    for job in range(3 * SENDS_AT_ONCE):
        outgoing.write(PUSH, job=f"{job}")
    together = threading.Barrier(SENDS_AT_ONCE, timeout=PATIENCE)
    under_way: list[str] = []
    most: list[int] = []

    class Meeting:
        def publish(self, update):
            under_way.append(update.job_id)
            most.append(len(under_way))
            together.wait()  # breaks unless so many are under way
            under_way.remove(update.job_id)
            outgoing.publish(update)

    assert outgoing.run(publisher=Meeting()) == Relayed(sent=3 * SENDS_AT_ONCE)
    assert max(most) <= SENDS_AT_ONCE


def test_updates_of_one_job_go_in_order_one_by_one():
    outgoing = Outgoing()
    jobs = [f"{n % 7}" for n in range(CLAIM_ROWS + 70)]
    names = [outgoing.write(PUSH, job=job) for job in jobs]
    under_way: set[str] = set()

    class Alone:
        def publish(self, update):
            assert update.job_id not in under_way
            under_way.add(update.job_id)
            time.sleep(0.0005)  # other threads get their turn
            outgoing.publish(update)
            under_way.remove(update.job_id)

    assert outgoing.run(publisher=Alone()).failed == 0
    for job in set(jobs):
        written = [name for name, other in zip(names, jobs, strict=True) if other == job]
        assert [name for name in outgoing.sent if name in written] == written


def test_a_run_whose_time_is_up_records_what_it_sent_and_puts_the_rest_back():
    outgoing = Outgoing(call_seconds=1.0)
    names = [outgoing.write(PUSH, job=f"{n}") for n in range(100)]
    first = outgoing.run()
    assert 0 < first.sent < 100
    assert first == Relayed(sent=first.sent, put_back=100 - first.sent)
    assert outgoing.count_unsent() == first.put_back
    # Each that began before the end of sending was waited for: as many as may be under way, and no more.
    assert outgoing.monotonic <= RUN_SECONDS - SETTLE_SECONDS + SENDS_AT_ONCE
    outgoing.monotonic = 1000.0
    assert outgoing.run().sent > 0, "the next run need not wait until the claim of the first has run out"
    while outgoing.count_unsent():
        outgoing.run()
    assert outgoing.count_sends() == dict.fromkeys(names, 1)


def test_a_run_without_time_claims_nothing():
    outgoing = Outgoing()
    outgoing.write("plan")
    assert outgoing.run(seconds=SETTLE_SECONDS) == Relayed()
    assert outgoing.run() == Relayed(sent=1)


def test_a_claim_outlasts_its_run_however_late_it_comes():
    outgoing = Outgoing(call_seconds=0.5)
    ends_at = RUN_SECONDS
    claims: list[float] = []

    class Watched(DyingLedger):
        def claim_outbox(self, *, limit, seconds):
            claims.append(outgoing.read_clock() + seconds)
            return super().claim_outbox(limit=5, seconds=seconds)

    for n in range(40):
        outgoing.write(PUSH, job=f"{n}")
    outgoing.run(ledger=Watched(outgoing.ledger, dies_at=0, has_written=False))
    assert len(claims) > 5
    assert claims == [pytest.approx(ends_at + CLAIM_MARGIN_SECONDS)] * len(claims)


def test_a_send_that_hangs_keeps_no_other_row_from_being_recorded():
    outgoing = Outgoing()
    names = [outgoing.write(PUSH, job=f"{n}") for n in range(9)]
    released = threading.Event()

    class Hanging:
        def publish(self, update):
            if update.slide_id == names[4]:
                released.wait(PATIENCE)
            else:
                outgoing.publish(update)

    outgoing.write("plan")
    # The clock of the run stands still, but waiting for threads takes real time: of this run, three seconds.
    assert outgoing.run(publisher=Hanging(), seconds=SETTLE_SECONDS + 0.1) == Relayed(sent=len(names), failed=1)
    released.set()
    assert outgoing.count_unsent() == 1


def test_an_entry_that_the_queue_refuses_comes_again_and_the_others_of_its_batch_do_not():
    outgoing = Outgoing()
    names = [outgoing.write("plan") for _ in range(10)]
    bad = names[3]
    outgoing.is_refused = lambda name: name == bad
    assert outgoing.run() == Relayed(sent=9, failed=1)
    assert outgoing.run() == Relayed(), "it waits until its claim has run out"
    outgoing.is_refused = lambda name: False
    outgoing.clock.pass_seconds(RUN_SECONDS + CLAIM_MARGIN_SECONDS + 1)
    assert outgoing.run() == Relayed(sent=1)
    assert outgoing.count_sends() == dict.fromkeys(names, 1)


def test_a_queue_that_does_not_answer_holds_up_no_other_queue_and_no_push(caplog):
    class OneIsDown(Outgoing):
        def send_batch(self, queue, messages):
            if queue == "plan":
                raise SourceUnavailable("The queue service did not answer.")
            return super().send_batch(queue, messages)

    outgoing = OneIsDown()
    for topic in ("plan", "stitch", PUSH):
        outgoing.write(topic)
    assert outgoing.run() == Relayed(sent=2, failed=1)
    (record,) = [one for one in caplog.records if one.levelname == "ERROR"]
    assert (record.topic, len(record.outbox_ids)) == ("plan", 1)


def test_a_push_of_a_body_that_nobody_understands_holds_up_no_other():
    outgoing = Outgoing()
    good = outgoing.write(PUSH)
    outgoing.ledger.books.send(HOSPITAL, PUSH, {"job_id": "job"}, "")
    later = outgoing.write(PUSH)
    assert outgoing.run() == Relayed(sent=2, failed=1)
    assert outgoing.sent == [good, later]


rows = st.lists(st.sampled_from(["plan", "stitch", REVOCATION, "push-a", "push-b", "push-c"]), min_size=1, max_size=40)


def write_all(outgoing, kinds):
    return [
        outgoing.write(PUSH, job=kind.removeprefix("push-")) if kind.startswith("push-") else outgoing.write(kind)
        for kind in kinds
    ]


@given(
    kinds=rows,
    failing=st.sets(st.integers(0, 39)),
    call_seconds=st.sampled_from([0.0, 1.0, 6.0]),
    dies_at=st.integers(0, 5),
    has_written=st.booleans(),
)
@settings(max_examples=150)
def test_every_row_arrives_whatever_fails_and_twice_only_after_a_death(
    kinds, failing, call_seconds, dies_at, has_written
):
    outgoing = Outgoing(call_seconds=call_seconds)
    names = write_all(outgoing, kinds)
    unlucky = {names[place] for place in failing if place < len(names)}
    outgoing.is_refused = lambda name: name in unlucky
    has_died = False
    for attempt in range(200):
        ledger = DyingLedger(outgoing.ledger, dies_at=dies_at if attempt == 0 else 0, has_written=has_written)
        try:
            outgoing.run(ledger=ledger)
        except Dead:
            has_died = True
        if not outgoing.count_unsent():
            break
        if attempt == 1:
            unlucky.clear()  # the services are back
        outgoing.clock.pass_seconds(RUN_SECONDS + CLAIM_MARGIN_SECONDS + 1)
    assert outgoing.count_unsent() == 0
    counts = outgoing.count_sends()
    assert set(counts) == set(names)
    assert max(counts.values()) <= (2 if has_died else 1)


@given(kinds=rows, call_seconds=st.sampled_from([0.5, 2.0]))
@settings(max_examples=50)
def test_runs_that_the_time_ends_send_each_row_once_and_each_job_in_order(kinds, call_seconds):
    outgoing = Outgoing(call_seconds=call_seconds)
    names = write_all(outgoing, kinds)
    while outgoing.count_unsent():
        assert outgoing.run(seconds=8.0).failed == 0  # no claim runs out in between
    assert sorted(outgoing.sent) == sorted(names)
    for job in "abc":
        written = [name for name in names if name.startswith(f"push-{job}-")]
        assert [name for name in outgoing.sent if name in written] == written


def test_the_functions_time_is_for_sending_most_of_all():
    assert TIMEOUTS["relay"] >= 4 * SETTLE_SECONDS
