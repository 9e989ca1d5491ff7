"""Jobs as tenants see them: submit, read, list, cancel; and the plan's and the results' commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from uuid import UUID

from psycopg import errors, sql
from psycopg.types.json import Jsonb

from adapters.postgres import models, quotas, rows, shards, slides
from adapters.postgres.audit import note
from adapters.postgres.connections import Cursor, Transactions
from adapters.postgres.moves import announce, append_event, cancel_shards, lock_job, move_job, raise_priority
from wsi.errors import FailReason
from wsi.ledger_rules import (
    REUSABLE,
    check_readable,
    make_deleted_job_error,
    make_final_job_error,
    make_reused_key_error,
    make_slide_changed_error,
    make_unknown_job_error,
    make_unknown_model_error,
    needs_higher_priority,
    select_followers,
)
from wsi.ports.ledger import PlanningBrief, StitchBrief
from wsi.records.identity import Actor
from wsi.records.jobs import Idempotency, Job, JobEvent, JobFilter, JobTerms, NewJob, Submission
from wsi.records.pages import Page, make_cursor, read_cursor
from wsi.records.results import ResultFile
from wsi.records.shards import ShardOutput
from wsi.records.slides import Slide
from wsi.states import JobState

_PAGE = sql.SQL(
    """
    SELECT jobs.* FROM jobs JOIN slides ON slides.id = jobs.slide_id
    WHERE (%(q)s::text IS NULL OR strpos(normalize(lower(jobs.label)), normalize(lower(%(q)s))) > 0
            OR strpos(normalize(lower(slides.name)), normalize(lower(%(q)s))) > 0)
        AND (%(keys)s::text[] IS NULL OR jobs.model = ANY(%(keys)s))
        AND jobs.deleted_at IS NULL
        AND (%(time)s::timestamptz IS NULL OR (jobs.created_at, jobs.id) < (%(time)s, %(id)s)) {equals}
    ORDER BY jobs.created_at DESC, jobs.id DESC LIMIT %(rows)s
    """
)
#: In one statement: a job that ends between two would be missed by both.
_EQUAL = """
    (
        SELECT * FROM jobs
        WHERE tenant = %(tenant)s AND identity = %(identity)s AND finished_at IS NOT NULL AND state = ANY(%(reusable)s)
        ORDER BY finished_at DESC LIMIT 1
    ) UNION ALL (
        SELECT * FROM jobs
        WHERE tenant = %(tenant)s AND identity = %(identity)s AND finished_at IS NULL AND %(live)s
        ORDER BY created_at, id LIMIT 1
    ) ORDER BY finished_at NULLS LAST LIMIT 1
"""
#: A lock that ends with its transaction, for which RDS Proxy does not pin the session.
_TAKE_TURN = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
#: Columns are named as the fields are.
_TERMS = tuple(field.name for field in fields(JobTerms))
_INSERT = sql.SQL(
    """
    INSERT INTO jobs (id, tenant, slide_id, model, model_version, model_digest, state, options, identity, traceparent,
        retry_of, tiles_expected, created_by, {names})
    VALUES (%(id)s, %(tenant)s, %(slide_id)s, %(model)s, %(model_version)s, %(model_digest)s, 'QUEUED', %(options)s,
        %(identity)s, %(traceparent)s, %(retry_of)s, %(tiles_expected)s, %(created_by)s, {values})
    RETURNING *
    """
).format(names=sql.SQL(", ").join(map(sql.Identifier, _TERMS)), values=sql.SQL(", ").join(map(sql.Placeholder, _TERMS)))


class PostgresTenantJobs(Transactions):
    """The API's operations on jobs."""

    def submit_job(
        self,
        actor: Actor,
        job: NewJob,
        *,
        idempotency: Idempotency | None,
        reuse_finished: bool,
        share_live: bool = False,
        dollars_per_gpu_hour: float | None = None,
    ) -> Submission:
        with self._transaction(actor.tenant) as cursor:
            # Parallel requests meet at the key's row: the second INSERT waits until the first one has committed.
            if idempotency and not _claim_key(cursor, actor, idempotency, job.id):
                return _replay(cursor, idempotency)
            slide = slides.lock_shared(cursor, job.slide_id)
            check_readable(slide)
            if slide.version != job.slide_version:
                raise make_slide_changed_error()
            if equal := find_equal(cursor, actor.tenant, job.identity, finished=reuse_finished, live=share_live):
                return _answer_with(cursor, actor, job, equal, idempotency)
            quotas.check_new_job(cursor, actor, job, dollars_per_gpu_hour=dollars_per_gpu_hour)
            created = add(cursor, actor, job, slide)
            note(cursor, actor, "job.submit", created.id, {"reused": False})
            return Submission(job=created)

    def get_job(self, actor: Actor, job_id: UUID) -> Job:
        with self._transaction(actor.tenant) as cursor:
            return get(cursor, job_id)

    def list_jobs(self, actor: Actor, wanted: JobFilter, *, cursor: str | None, limit: int) -> Page[Job]:
        with self._transaction(actor.tenant) as transaction:
            time, last = read_cursor(cursor) if cursor else (None, None)
            equals = replace(wanted, model=None).get_required_values()
            also = (sql.SQL(" AND jobs.{} = {}").format(sql.Identifier(k), sql.Placeholder(k)) for k in equals)
            keys = [wanted.model, rows.make_model_key(actor.tenant, wanted.model)] if wanted.model is not None else None
            values = {**equals, "keys": keys, "q": wanted.q, "time": time, "id": last, "rows": limit + 1}
            found = transaction.execute(_PAGE.format(equals=sql.SQL("").join(also)), values).fetchall()
            items = tuple(rows.read_job(row) for row in found[:limit])
            return Page(items, make_cursor(items[-1].created_at, items[-1].id) if len(found) > limit else None)

    def list_job_events(self, actor: Actor, job_id: UUID, *, after: int, limit: int) -> tuple[JobEvent, ...]:
        with self._transaction(actor.tenant) as cursor:
            get(cursor, job_id)
            found = cursor.execute(
                "SELECT * FROM job_events WHERE job_id = %s AND seq > %s ORDER BY seq LIMIT %s", (job_id, after, limit)
            )
            return tuple(rows.read_job_event(row) for row in found)

    def list_finished_shards(self, actor: Actor, job_id: UUID) -> tuple[ShardOutput, ...]:
        with self._transaction(actor.tenant) as cursor:
            get(cursor, job_id)
            return shards.list_finished(cursor, job_id)

    def list_results(self, actor: Actor, job_id: UUID) -> tuple[ResultFile, ...]:
        with self._transaction(actor.tenant) as cursor:
            get(cursor, job_id)
            found = cursor.execute("SELECT * FROM results WHERE job_id = %s ORDER BY name", (job_id,))
            return tuple(rows.read_result_file(row) for row in found)

    def cancel_job(self, actor: Actor, job_id: UUID) -> Job:
        with self._transaction(actor.tenant) as cursor:
            moved = move_job(cursor, job_id, JobState.CANCELLED)
            if moved:
                cancel_shards(cursor, job_id)
                note(cursor, actor, "job.cancel", job_id)
                return moved
            job = get(cursor, job_id)
            if job.state is not JobState.CANCELLED:
                raise make_final_job_error(job)
            return job


class PostgresSystemJobs(Transactions):
    """The operations of planning and stitching on jobs."""

    def begin_planning(self, job_id: UUID) -> PlanningBrief | None:
        with self._transaction() as cursor:
            job = move_job(cursor, job_id, JobState.PLANNING) or lock_job(cursor, job_id)
            if job is None or job.state is not JobState.PLANNING:
                return None
            slide = slides.get(cursor, job.slide_id)
            return PlanningBrief(job=job, slide=slide, model=models.get_of_job(cursor, job.id))

    def commit_plan(self, job_id: UUID, *, plan_key: str, plan_digest: str, shard_tiles: Sequence[int]) -> bool:
        with self._transaction() as cursor:
            job = lock_job(cursor, job_id)
            if job is None or job.state is not JobState.PLANNING:
                return False
            shards.insert(cursor, job, list(shard_tiles))
            taken = shards.take_over(cursor, job, plan_digest)
            remaining = len(shard_tiles) - taken["shards"]
            moved = move_job(
                cursor,
                job_id,
                JobState.RUNNING if remaining else JobState.STITCHING,
                detail={"shards": len(shard_tiles), "taken_over": taken["shards"]},
                plan_key=plan_key,
                plan_digest=plan_digest,
                shards_total=len(shard_tiles),
                shards_remaining=remaining,
                tiles_planned=sum(shard_tiles),
                tiles_inferred=taken["inferred"],
                tiles_unreadable=taken["unreadable"],
            )
            assert moved is not None, "the job is locked and was PLANNING"
            return True

    def finish_without_tissue(self, job_id: UUID, results: Sequence[ResultFile]) -> bool:
        with self._transaction() as cursor:
            return _finish(cursor, job_id, JobState.NO_TISSUE, results)

    def fail_job(self, job_id: UUID, reason: FailReason, sentence: str) -> bool:
        with self._transaction() as cursor:
            return shards.fail_job(cursor, job_id, reason, sentence)

    def find_stitch_brief(self, job_id: UUID) -> StitchBrief | None:
        with self._transaction() as cursor:
            job = lock_job(cursor, job_id)
            if job is None or job.state is not JobState.STITCHING:
                return None
            return StitchBrief(job=job, shards=shards.list_finished(cursor, job_id))

    def commit_results(self, job_id: UUID, results: Sequence[ResultFile]) -> bool:
        with self._transaction() as cursor:
            job = lock_job(cursor, job_id)
            if job is None:
                return False
            flawed = job.tiles_unreadable > 0
            to = JobState.COMPLETED_WITH_UNREADABLE_TILES if flawed else JobState.COMPLETED
            return _finish(cursor, job_id, to, results)


def get(cursor: Cursor, job_id: UUID) -> Job:
    row = cursor.execute("SELECT * FROM jobs WHERE id = %s", (job_id,)).fetchone()
    if row is None:
        raise make_unknown_job_error()
    if row["deleted_at"] is not None:
        raise make_deleted_job_error()
    return rows.read_job(row)


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
    if row is None:  # the key was there a moment ago, and went with its job
        raise make_deleted_job_error()
    if row["body_digest"] != idempotency.body_digest:
        raise make_reused_key_error()
    return Submission(job=get(cursor, row["job_id"]), replayed=True, reused=row["reused"], shared=row["shared"])


def find_equal(cursor: Cursor, tenant: UUID, identity: str, *, finished: bool, live: bool) -> Job | None:
    """Return an equal job of the tenant that finished, or else the first one that is under way. Equal requests take
    turns here: each sees the job that the one before it has added."""
    if live:
        cursor.execute(_TAKE_TURN, (f"job {tenant} {identity}",))
    row = cursor.execute(
        _EQUAL,
        {
            "tenant": tenant,
            "identity": identity,
            "reusable": [state.value for state in REUSABLE] if finished else [],
            "live": live,
        },
    ).fetchone()
    equal = rows.read_job(row) if row else None
    if equal is None or equal.state.is_final:
        return equal
    locked = lock_job(cursor, equal.id)  # it cannot end before these requesters are to be told of it
    if locked is None or locked.state.is_final:
        return find_equal(cursor, tenant, identity, finished=finished, live=live)
    return locked


def _answer_with(
    cursor: Cursor, actor: Actor, asked: NewJob, equal: Job, idempotency: Idempotency | None
) -> Submission:
    """Return the equal job as the answer. One that is under way tells these requesters of its end too, and becomes as
    urgent as they ask for."""
    submission = Submission(job=equal, reused=equal.state.is_final, shared=not equal.state.is_final)
    if submission.shared:
        if needs_higher_priority(equal, asked):
            quotas.check_priority_allowed(cursor, actor, asked.priority)
            submission = replace(submission, job=raise_priority(cursor, equal.id, asked.priority))
        cursor.executemany(
            """
            INSERT INTO job_followers (job_id, tenant, channel, target) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING
            """,
            [(equal.id, actor.tenant, channel.value, target) for channel, target in select_followers(equal, asked)],
        )
    if idempotency:
        cursor.execute(
            "UPDATE idempotency_keys SET job_id = %s, reused = %s, shared = %s WHERE key = %s",
            (equal.id, submission.reused, submission.shared, idempotency.key),
        )
    note(cursor, actor, "job.submit", equal.id, {"reused": submission.reused, "shared": submission.shared})
    return submission


def add(cursor: Cursor, actor: Actor, job: NewJob, slide: Slide) -> Job:
    """Add a QUEUED job over the slide that the actor asked for, and tell of it."""
    created = _insert(cursor, actor, job)
    announce(cursor, created, slide=slide)
    if job.retry_of:
        append_event(cursor, get(cursor, job.retry_of), "retried", {"by": str(job.id)})
    return created


def _insert(cursor: Cursor, actor: Actor, job: NewJob) -> Job:
    values = {
        "id": job.id,
        "tenant": actor.tenant,
        "slide_id": job.slide_id,
        "model": models.find_key(cursor, actor.tenant, job.model, job.model_version, job.model_digest),
        "model_version": job.model_version,
        "model_digest": job.model_digest,
        "options": Jsonb(job.options.as_json()),
        "identity": job.identity,
        "traceparent": job.traceparent,
        "retry_of": job.retry_of,
        "tiles_expected": job.tiles_expected,
        "created_by": actor.subject,
        **job.get_terms(),
    }
    try:
        row = cursor.execute(_INSERT, values).fetchone()
    except errors.ForeignKeyViolation as violation:
        raise (
            make_unknown_job_error()
            if violation.diag.constraint_name == "jobs_retry_of_fkey"
            else make_unknown_model_error()
        ) from violation
    assert row is not None, "INSERT … RETURNING has a row"
    return rows.read_job(row)


def _finish(cursor: Cursor, job_id: UUID, to: JobState, files: Sequence[ResultFile]) -> bool:
    job = move_job(cursor, job_id, to)
    if job is None:
        return False
    cursor.executemany(
        "INSERT INTO results (job_id, tenant, name, key, size, sha256, media_type) VALUES (%s, %s, %s, %s, %s, %s, %s)",
        [(job_id, job.tenant, file.name, file.key, file.size, file.sha256, file.media_type) for file in files],
    )
    return True
