"""Moves of a job and their notices: the one place that changes `jobs.state`, and all that leaves with it.

Locks are always taken on the job first and on its shards after, so that no two transactions wait for each other, and
so that the numbers of one job's events grow in the order of their commits.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Jsonb

from adapters.postgres import models, rows, slides
from adapters.postgres.connections import Cursor
from wsi.ledger_rules import ENTRY_TOPIC, PUSH_SECONDS, make_job_message, select_receivers
from wsi.planning.plan_queue import PLAN, choose_plan_queue
from wsi.records.jobs import Job, Priority
from wsi.records.notices import MESSAGE_SCHEMA, PUSH, SHARD_QUEUES, make_job_update
from wsi.records.slides import Slide
from wsi.results.stitch_queue import choose_stitch_queue
from wsi.states import JOB_MOVES, SHARD_MOVES, JobState, ShardState, select_sources

#: A topic of the outbox, and a body.
Message: TypeAlias = tuple[str, Mapping[str, Any]]


def lock_job(cursor: Cursor, job_id: UUID) -> Job | None:
    row = cursor.execute("SELECT * FROM jobs WHERE id = %s FOR UPDATE", (job_id,)).fetchone()
    return rows.read_job(row) if row else None


def move_job(
    cursor: Cursor, job_id: UUID, to: JobState, *, detail: Mapping[str, Any] | None = None, **changes: Any
) -> Job | None:
    """Move a job by compare-and-set: version + 1, event, push, and the message to the next stage, in this transaction.

    `changes` sets further columns in the same statement. Return None if another process moved the job first.
    """
    also = sql.SQL("").join(sql.SQL(", {} = {}").format(sql.Identifier(k), sql.Placeholder(k)) for k in changes)
    move = sql.SQL(
        """
        UPDATE jobs SET state = %(to)s, version = version + 1, updated_at = now(), pushed_at = now(), woken_at = now(),
            finished_at = CASE WHEN %(final)s THEN now() END {also}
        WHERE id = %(id)s AND state = ANY(%(sources)s)
        RETURNING *
        """
    ).format(also=also)
    guard = [state.value for state in select_sources(JOB_MOVES, to)]
    row = cursor.execute(
        move, {**changes, "to": to.value, "final": to.is_final, "id": job_id, "sources": guard}
    ).fetchone()
    if row is None:
        return None
    job = rows.read_job(row)
    announce(cursor, job, detail)
    return job


def announce(cursor: Cursor, job: Job, detail: Mapping[str, Any] | None = None, *, slide: Slide | None = None) -> None:
    """Append the event and send the push and the messages of a job that has just come into its state. `slide` is the
    job's, where it has been read in this transaction."""
    append_event(cursor, job, "moved", {"state": job.state.value, **(detail or {})})
    messages = [_make_push(job)]
    if topic := ENTRY_TOPIC.get(job.state):
        messages.append(_make_wake(cursor, job, topic, slide))
    if select_receivers(job) or (job.state.is_final and has_followers(cursor, job.id)):
        messages.append(("notify", make_job_message(job.id)))
    send(cursor, job, *messages)


def has_followers(cursor: Cursor, job_id: UUID) -> bool:
    """Return whether somebody who asked for the job while it was under way is to be told of its end."""
    return cursor.execute("SELECT FROM job_followers WHERE job_id = %s LIMIT 1", (job_id,)).fetchone() is not None


def raise_priority(cursor: Cursor, job_id: UUID, priority: Priority) -> Job:
    """Make a locked job more urgent, and its shards that still wait in a line. Those that were admitted stay in the
    queue that they are in."""
    row = cursor.execute("UPDATE jobs SET priority = %s WHERE id = %s RETURNING *", (priority.value, job_id)).fetchone()
    assert row is not None, "jobs are never deleted"
    cursor.execute(
        "UPDATE shards SET waits_in = %s WHERE job_id = %s AND state = 'QUEUED' AND waits_in IS NOT NULL",
        (priority.value, job_id),
    )
    return rows.read_job(row)


def wake_stage(cursor: Cursor, job: Job, topic: str) -> None:
    """Send the message to the stage that works on the job next."""
    send(cursor, job, _make_wake(cursor, job, topic, None))


def append_event(cursor: Cursor, job: Job, kind: str, detail: Mapping[str, Any]) -> None:
    cursor.execute(
        "INSERT INTO job_events (job_id, tenant, kind, version, detail) VALUES (%s, %s, %s, %s, %s)",
        (job.id, job.tenant, kind, job.version, Jsonb(dict(detail))),
    )


def send(cursor: Cursor, job: Job, *messages: Message) -> None:
    """Put the messages into the outbox, in this order and by one statement."""
    topics, bodies = zip(*messages, strict=True)
    cursor.execute(
        """
        INSERT INTO outbox (tenant, topic, body, traceparent)
        SELECT %s, topic, body, %s
        FROM unnest(%s::text[], %s::jsonb[]) WITH ORDINALITY AS sent (topic, body, place) ORDER BY place
        """,
        (job.tenant, job.traceparent, list(topics), [Jsonb(dict(body)) for body in bodies]),
    )


def _make_push(job: Job) -> Message:
    return PUSH, make_job_update(job).as_json()


def _make_wake(cursor: Cursor, job: Job, topic: str, slide: Slide | None) -> Message:
    if topic == PLAN:
        queue = choose_plan_queue(slide or slides.get(cursor, job.slide_id), job.options)
    else:
        queue = choose_stitch_queue(models.get_of_job(cursor, job.id).card)
    return queue, make_job_message(job.id)


def add_progress(
    cursor: Cursor,
    job_id: UUID,
    *,
    inferred: int,
    unreadable: int,
    finished: int,
    rate: float | None,
    finished_since: datetime | None = None,
) -> Job:
    """Add to the counts of a locked job. This is not a move: progress_seq + 1, and a push at most once a second.

    `finished_since`: when the lease of the shard that has just finished began; the time since then is added too,
    or nothing if the clock has gone back meanwhile. None adds nothing, as `greatest` passes over NULL.
    """
    row = cursor.execute(
        """
        UPDATE jobs SET progress_seq = progress_seq + 1, updated_at = now(),
            tiles_inferred = tiles_inferred + %(inferred)s,
            tiles_unreadable = tiles_unreadable + %(unreadable)s,
            shards_remaining = shards_remaining - %(finished)s,
            tiles_per_second = coalesce(%(rate)s, tiles_per_second),
            worker_seconds = worker_seconds + greatest(0, extract(epoch FROM now() - %(since)s::timestamptz))
        WHERE id = %(id)s
        RETURNING *, pushed_at <= now() - make_interval(secs => %(pause)s) AS may_push
        """,
        {
            "id": job_id,
            "inferred": inferred,
            "unreadable": unreadable,
            "finished": finished,
            "rate": rate,
            "since": finished_since,
            "pause": PUSH_SECONDS,
        },
    ).fetchone()
    assert row is not None, "the caller holds the job's lock"
    job = rows.read_job(row)
    if row["may_push"]:
        send(cursor, job, _make_push(job))
        cursor.execute("UPDATE jobs SET pushed_at = now() WHERE id = %s", (job_id,))
    return job


def wake_shards(cursor: Cursor, job: Job, indices: list[int]) -> None:
    """Send a message again for each QUEUED shard of the job among `indices`. They were admitted before and keep their
    places; so no line holds them up."""
    cursor.execute(
        """
        WITH woken AS (
            UPDATE shards SET woken_at = now()
            WHERE job_id = %(job)s AND state = 'QUEUED' AND index = ANY(%(indices)s)
            RETURNING index
        )
        INSERT INTO outbox (tenant, topic, body, traceparent)
        SELECT %(tenant)s, %(topic)s, jsonb_build_object('v', %(schema)s::int, 'job_id', %(job)s, 'shard', index),
            %(traceparent)s
        FROM woken ORDER BY index
        """,
        {
            "job": job.id,
            "indices": indices,
            "tenant": job.tenant,
            "topic": SHARD_QUEUES[job.priority],
            "schema": MESSAGE_SCHEMA,
            "traceparent": job.traceparent,
        },
    )


def cancel_shards(cursor: Cursor, job_id: UUID) -> None:
    """Cancel the unfinished shards of a job that ended early: no worker leases or commits them."""
    cursor.execute(
        """
        UPDATE shards SET state = 'CANCELLED', lease_until = NULL, waits_in = NULL WHERE job_id = %s AND state = ANY(%s)
        """,
        (job_id, [state.value for state in select_sources(SHARD_MOVES, ShardState.CANCELLED)]),
    )
