"""Messages come twice, relays die, subscribers come late: every job ends once, and everybody learns of it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from psycopg.types.json import Jsonb

from adapters.sqs import SqsQueues
from local.options import QUEUE_PREFIX
from tessera.api.watch import PollingPace, Realtime, watch
from tests.stack.lab import Lab, eventually
from tests.updates import any_update
from wsi.records.notices import JobUpdate
from wsi.states import JobState, SlideState

pytestmark = pytest.mark.stack


@contextmanager
def everything_sent_twice(lab: Lab) -> Iterator[set[int]]:
    """Marks each outbox row that was sent as unsent, once, so that the relay sends it again."""
    doubled: set[int] = set()
    ended = threading.Event()

    def again() -> None:
        while not ended.wait(0.05):
            rows = lab.sql(
                "UPDATE outbox SET sent_at = NULL, claimed_until = NULL"
                " WHERE sent_at IS NOT NULL AND NOT (id = ANY(%s)) RETURNING id",
                list(doubled),
            )
            doubled.update(row["id"] for row in rows)

    lab.sql("DELETE FROM outbox WHERE sent_at IS NOT NULL")
    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield doubled
    finally:
        ended.set()
        thread.join()


def test_a_job_whose_every_message_comes_twice_is_planned_run_and_stitched_once(lab: Lab, middling_slide: Path) -> None:
    for _ in range(2):
        lab.stack.workers.start()
    with everything_sent_twice(lab) as doubled:
        slide = lab.upload(middling_slide)
        job = lab.run(slide)
        topics = {row["topic"] for row in lab.sql("SELECT topic FROM outbox WHERE id = ANY(%s)", list(doubled))}
        eventually(
            lambda: not lab.sql("SELECT 1 FROM outbox WHERE sent_at IS NULL"), seconds=30, what="an empty outbox"
        )

    assert job.status == JobState.COMPLETED
    assert {"inspect", "plan", "shards-normal", "stitch", "push"} <= topics
    assert (job.tiles_planned, job.tiles_inferred, job.tiles_unreadable) == (2_400, 2_400, 0)
    assert lab.moves(job) == ["QUEUED", "PLANNING", "RUNNING", "STITCHING", "COMPLETED"]
    assert sorted(detail["shard"] for detail in lab.events(job, "shard_committed")) == [0, 1, 2]
    assert all(detail["attempt"] == 1 for detail in lab.events(job, "shard_committed"))


def heard_by(lab: Lab, job_id: str, *, until_version: int) -> list[JobUpdate]:
    """What a subscriber hears until an update of that version arrives. It never asks the API."""
    heard: list[JobUpdate] = []

    def read() -> JobUpdate:
        # What the API would say is withheld: the test is of the push. The first read happens at once, the second
        # one when the subscription stands.
        return heard[-1] if heard and heard[-1].version >= until_version else any_update(job_id=job_id)

    async def listen() -> JobUpdate:
        realtime = Realtime(url=lab.stack.realtime_url, credential=lab.stack.api_key)
        return await watch(
            job_id,
            read=read,
            realtime=realtime,
            on_update=heard.append,
            pace=PollingPace(poll=0.1, reread=0.1, settle=0.1),
        )

    asyncio.run(asyncio.wait_for(listen(), 30))
    return heard


@pytest.mark.parametrize("claimed_for", [None, 3.0], ids=["before it claimed the event", "after it claimed the event"])
def test_an_event_arrives_although_the_relay_died(lab: Lab, claimed_for: float | None) -> None:
    """What a death leaves is an event that nobody was woken for, or one that is claimed and never marked as sent."""
    tenant, job_id = lab.stack.tenants["first"], str(uuid4())
    update = any_update(job_id=job_id, tenant=str(tenant), version=5, status="FAILED")

    def leave_behind() -> None:
        lab.sql(
            "INSERT INTO outbox (tenant, topic, body, traceparent, claimed_until)"
            " VALUES (%s, 'push', %s, %s, now() + make_interval(secs => %s))",
            tenant,
            Jsonb(update.as_json()),
            f"00-{uuid4().hex}-{uuid4().hex[:16]}-01",
            claimed_for,
        )

    timer = threading.Timer(1.5, leave_behind)
    timer.start()
    heard = heard_by(lab, job_id, until_version=5)
    timer.join()
    assert heard[-1] == update


def test_a_subscriber_that_comes_late_converges(lab: Lab, middling_slide: Path) -> None:
    lab.stack.workers.start()
    job = lab.submit(lab.upload(middling_slide))
    eventually(lambda: lab.events(job, "shard_committed"), seconds=60, what="a committed shard")
    seen: list[JobUpdate] = []
    realtime = Realtime(url=lab.stack.realtime_url, credential=lab.stack.api_key)
    last = asyncio.run(
        watch(job.job_id, read=lambda: lab.api.get_job_update(job.job_id), realtime=realtime, on_update=seen.append)
    )
    assert last.status == JobState.COMPLETED
    assert (last.tiles_planned, last.tiles_inferred) == (2_400, 2_400)
    order = [(update.version, update.progress_seq) for update in seen]
    assert order == sorted(set(order))
    assert (
        asyncio.run(
            watch(job.job_id, read=lambda: lab.api.get_job_update(job.job_id), realtime=realtime, on_update=seen.append)
        )
        == last
    ), "one that comes after the end sees the same"


def test_without_websockets_the_job_is_followed_by_polling(lab: Lab, middling_slide: Path) -> None:
    lab.stack.workers.start()
    job = lab.submit(lab.upload(middling_slide))
    blocked = Realtime(url="ws://127.0.0.1:9/graphql/realtime", credential=lab.stack.api_key)
    last = asyncio.run(
        watch(
            job.job_id, read=lambda: lab.api.get_job_update(job.job_id), realtime=blocked, on_update=lambda update: None
        )
    )
    assert last.status == JobState.COMPLETED


def test_dead_letters_are_collected_and_their_work_is_sent_again(lab: Lab, middling_slide: Path) -> None:
    slide = lab.upload(middling_slide)
    lab.sql("UPDATE slides SET state = 'UPLOADED' WHERE id = %s", slide.slide_id)
    queues = SqsQueues(lab.stack.clients, QUEUE_PREFIX)
    for text in (f'{{"v": 1, "slide_id": "{slide.slide_id}"}}', '{"v": 1}'):
        queues.send("inspect-dlq", json.loads(text), group="g", traceparent="")

    def collected() -> list[str] | None:
        found = lab.sql("SELECT outcome FROM dead_letters WHERE queue = 'inspect' ORDER BY outcome")
        return [row["outcome"] for row in found] if len(found) == 2 else None

    assert eventually(collected, seconds=30, what="the sweep") == ["resent", "unreadable"]

    def inspected() -> bool | None:
        return lab.api.get_slide(slide.slide_id).status == SlideState.READY or None

    assert eventually(inspected, seconds=60, what="an inspection")
