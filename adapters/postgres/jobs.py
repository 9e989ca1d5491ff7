"""Jobs as tenants see them: submit, read, list, cancel; and the plan's and the results' commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from uuid import UUID

from psycopg import errors
from psycopg.types.json import Jsonb

from adapters.postgres import rows, shards, slides
from adapters.postgres.connections import Cursor
from adapters.postgres.moves import announce, append_event, cancel_shards, locked_job, move_job, wake_shards
from wsi.ledger_rules import REUSABLE, already_final, check_readable, no_job, no_model, other_body, slide_changed
from wsi.records.identity import Actor
from wsi.records.jobs import Idempotency, Job, JobEvent, JobFilter, NewJob, Submission
from wsi.records.pages import Page, cursor_after, read_cursor
from wsi.records.results import ResultFile
from wsi.states import JobState

_PAGE = """
    SELECT jobs.* FROM jobs JOIN slides ON slides.id = jobs.slide_id
    WHERE (%(q)s::text IS NULL OR strpos(normalize(lower(jobs.label)), normalize(lower(%(q)s))) > 0
            OR strpos(normalize(lower(slides.name)), normalize(lower(%(q)s))) > 0)
        AND (%(state)s::text IS NULL OR jobs.state = %(state)s)
        AND (%(model)s::text IS NULL OR jobs.model = %(model)s)
        AND (%(label)s::text IS NULL OR jobs.label = %(label)s)
        AND (%(slide_id)s::uuid IS NULL OR jobs.slide_id = %(slide_id)s)
        AND (%(created_by)s::text IS NULL OR jobs.created_by = %(created_by)s)
        AND (%(time)s::timestamptz IS NULL OR (jobs.created_at, jobs.id) < (%(time)s, %(id)s))
    ORDER BY jobs.created_at DESC, jobs.id DESC LIMIT %(rows)s
"""


def get(cursor: Cursor, job_id: UUID) -> Job:
    row = cursor.execute("SELECT * FROM jobs WHERE id = %s", (job_id,)).fetchone()
    if row is None:
        raise no_job()
    return rows.job(row)


def page(cursor: Cursor, wanted: JobFilter, *, after: str | None, limit: int) -> Page[Job]:
    time, last = read_cursor(after) if after else (None, None)
    found = cursor.execute(_PAGE, {**asdict(wanted), "time": time, "id": last, "rows": limit + 1}).fetchall()
    items = tuple(rows.job(row) for row in found[:limit])
    return Page(items, cursor_after(items[-1].created_at, items[-1].id) if len(found) > limit else None)


def events(cursor: Cursor, job_id: UUID, *, after: int, limit: int) -> tuple[JobEvent, ...]:
    get(cursor, job_id)
    found = cursor.execute(
        "SELECT * FROM job_events WHERE job_id = %s AND seq > %s ORDER BY seq LIMIT %s", (job_id, after, limit)
    )
    return tuple(rows.job_event(row) for row in found)


def submit(
    cursor: Cursor, actor: Actor, job: NewJob, *, idempotency: Idempotency | None, reuse_finished: bool
) -> Submission:
    # The key's row is what parallel requests meet at: the second INSERT waits until the first one has committed.
    if idempotency and not _claim_key(cursor, actor, idempotency, job.id):
        return _replay(cursor, idempotency)
    slide = slides.kept(cursor, job.slide_id)
    check_readable(slide)
    if slide.version != job.slide_version:
        raise slide_changed()
    if reuse_finished and (equal := _finished_equal(cursor, job.identity)):
        if idempotency:
            cursor.execute(
                "UPDATE idempotency_keys SET job_id = %s, reused = true WHERE key = %s", (equal.id, idempotency.key)
            )
        return Submission(job=equal, reused=True)
    created = _insert(cursor, actor, job)
    announce(cursor, created)
    if job.retry_of:
        append_event(cursor, get(cursor, job.retry_of), "retried", {"by": str(job.id)})
    return Submission(job=created)


def _claim_key(cursor: Cursor, actor: Actor, idempotency: Idempotency, job_id: UUID) -> bool:
    claimed = cursor.execute(
        """
        INSERT INTO idempotency_keys (tenant, key, body_digest, job_id) VALUES (%s, %s, %s, %s)
        ON CONFLICT DO NOTHING
        """,
        (actor.tenant, idempotency.key, idempotency.body_digest, job_id),
    )
    return claimed.rowcount == 1


def _replay(cursor: Cursor, idempotency: Idempotency) -> Submission:
    row = cursor.execute("SELECT * FROM idempotency_keys WHERE key = %s", (idempotency.key,)).fetchone()
    assert row is not None, "a conflicting key is committed and never removed"
    if row["body_digest"] != idempotency.body_digest:
        raise other_body()
    return Submission(job=get(cursor, row["job_id"]), replayed=True, reused=row["reused"])


def _finished_equal(cursor: Cursor, identity: str) -> Job | None:
    row = cursor.execute(
        """
        SELECT * FROM jobs WHERE identity = %s AND finished_at IS NOT NULL AND state = ANY(%s)
        ORDER BY finished_at DESC LIMIT 1
        """,
        (identity, [state.value for state in REUSABLE]),
    ).fetchone()
    return rows.job(row) if row else None


def _insert(cursor: Cursor, actor: Actor, job: NewJob) -> Job:
    try:
        row = cursor.execute(
            """
            INSERT INTO jobs (id, tenant, slide_id, model, model_version, model_digest, state, priority, options, label,
                identity, traceparent, retry_of, notify_email, notify_webhook, created_by)
            VALUES (%s, %s, %s, %s, %s, %s, 'QUEUED', %s, %s, %s, %s, %s, %s, %s, %s, %s)
            RETURNING *
            """,
            (
                *(job.id, actor.tenant, job.slide_id, job.model, job.model_version, job.model_digest, job.priority),
                *(Jsonb(job.options.as_json()), job.label, job.identity, job.traceparent, job.retry_of),
                *(job.notify_email, job.notify_webhook, actor.subject),
            ),
        ).fetchone()
    except errors.ForeignKeyViolation as violation:
        raise (no_job() if violation.diag.constraint_name == "jobs_retry_of_fkey" else no_model()) from violation
    assert row is not None, "INSERT … RETURNING has a row"
    return rows.job(row)


def cancel(cursor: Cursor, job_id: UUID) -> tuple[Job, bool]:
    """The job, and whether this call cancelled it."""
    moved = move_job(cursor, job_id, JobState.CANCELLED)
    if moved:
        cancel_shards(cursor, job_id)
        return moved, True
    job = get(cursor, job_id)
    if job.state is not JobState.CANCELLED:
        raise already_final(job)
    return job, False


def begin_planning(cursor: Cursor, job_id: UUID) -> Job | None:
    job = move_job(cursor, job_id, JobState.PLANNING) or locked_job(cursor, job_id)
    return job if job and job.state is JobState.PLANNING else None


def commit_plan(cursor: Cursor, job_id: UUID, *, plan_key: str, plan_digest: str, sizes: Sequence[int]) -> bool:
    job = locked_job(cursor, job_id)
    if job is None or job.state is not JobState.PLANNING:
        return False
    shards.insert(cursor, job, list(sizes))
    taken = shards.take_over(cursor, job, plan_digest)
    remaining = len(sizes) - taken["shards"]
    moved = move_job(
        cursor,
        job_id,
        JobState.RUNNING if remaining else JobState.STITCHING,
        detail={"shards": len(sizes), "taken_over": taken["shards"]},
        plan_key=plan_key,
        plan_digest=plan_digest,
        shards_total=len(sizes),
        shards_remaining=remaining,
        tiles_planned=sum(sizes),
        tiles_inferred=taken["inferred"],
        tiles_unreadable=taken["unreadable"],
    )
    assert moved is not None, "the job is locked and was PLANNING"
    wake_shards(cursor, moved)
    return True


def finish(cursor: Cursor, job_id: UUID, to: JobState, files: Sequence[ResultFile]) -> bool:
    job = move_job(cursor, job_id, to)
    if job is None:
        return False
    cursor.executemany(
        "INSERT INTO results (job_id, tenant, name, key, size, sha256, media_type) VALUES (%s, %s, %s, %s, %s, %s, %s)",
        [(job_id, job.tenant, file.name, file.key, file.size, file.sha256, file.media_type) for file in files],
    )
    return True


def results(cursor: Cursor, job_id: UUID) -> tuple[ResultFile, ...]:
    get(cursor, job_id)
    found = cursor.execute("SELECT * FROM results WHERE job_id = %s ORDER BY name", (job_id,))
    return tuple(rows.result_file(row) for row in found)
