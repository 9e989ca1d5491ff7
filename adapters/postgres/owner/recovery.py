"""`wsi.ports.recovery.RecoveryLedger` on Postgres, for its owner.

A recovery acts in the role of workers and sweep, and with the right to delete shards (`begin_as_system`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Jsonb

from adapters.postgres import registrations, rows, slides
from adapters.postgres.connections import Cursor
from adapters.postgres.moves import announce
from adapters.postgres.owner.counting import count_records
from adapters.postgres.owner.system_role import begin_as_system
from wsi.ports.recovery import JobResults, ModelMove, SlideMove, StoredModel
from wsi.records.slides import Slide
from wsi.states import JobState, SlideState

_OWNER = "owner"  #: the actor in the audit log
_SLIDES = sql.SQL(
    "SELECT {slide} FROM slides WHERE state <> 'DELETED' AND (%s::uuid IS NULL OR id > %s) ORDER BY id LIMIT %s"
).format(slide=rows.SLIDE)


class PostgresRecovery:
    """`owner_dsn` is called for each transaction, since the owner's password changes while a process lives."""

    def __init__(self, owner_dsn: Callable[[], str]) -> None:
        self._owner_dsn = owner_dsn

    def list_slides(self, *, after: UUID | None, limit: int) -> tuple[Slide, ...]:
        with self._transaction() as cursor:
            return tuple(rows.read_slide(row) for row in cursor.execute(_SLIDES, (after, after, limit)))

    def move_slides(self, moves: Sequence[SlideMove]) -> None:
        with self._transaction() as cursor:
            for move in moves:
                _move_slide(cursor, move)

    def list_models(self) -> tuple[StoredModel, ...]:
        with self._transaction() as cursor:
            versions = {
                (row["owner"], row["given_name"], row["version"]): rows.read_model_version(row)
                for row in cursor.execute("SELECT * FROM model_versions WHERE package_uri IS NOT NULL")
            }
            registered = {
                (row["tenant"], row["name"], row["version"]): rows.read_registration(row)
                for row in cursor.execute("SELECT * FROM model_registrations")
            }
        return tuple(
            StoredModel(
                owner=owner,
                name=name,
                version=version,
                model=versions.get((owner, name, version)),
                registration=registered.get((owner, name, version)),
            )
            for owner, name, version in sorted({*versions, *registered}, key=str)
        )

    def move_models(self, moves: Sequence[ModelMove]) -> None:
        with self._transaction() as cursor:
            for move in moves:
                at = (move.owner, move.name, move.version)
                if move.package_uri is not None:
                    cursor.execute(
                        "UPDATE model_versions SET package_uri = %s"
                        " WHERE owner IS NOT DISTINCT FROM %s AND given_name = %s AND version = %s",
                        (move.package_uri, *at),
                    )
                if move.files is not None:
                    cursor.execute(
                        "UPDATE model_registrations SET files = %s WHERE tenant = %s AND name = %s AND version = %s",
                        (Jsonb(list(move.files)), *at),
                    )
            cursor.execute(
                "UPDATE model_registrations SET updated_at = now(), woken_at = 'epoch' WHERE state = 'CHECKING'"
            )
            registrations.abandon(cursor, days=-1)  # the parts of every unfinished upload are gone, however young

    def list_jobs(self, *, after: UUID | None, limit: int) -> tuple[JobResults, ...]:
        with self._transaction() as cursor:
            page = cursor.execute(
                "SELECT * FROM jobs WHERE %s::uuid IS NULL OR id > %s ORDER BY id LIMIT %s", (after, after, limit)
            ).fetchall()
            files: dict[UUID, list[Any]] = {row["id"]: [] for row in page}
            found = cursor.execute("SELECT * FROM results WHERE job_id = ANY(%s) ORDER BY job_id, name", (list(files),))
            for row in found:
                files[row["job_id"]].append(rows.read_result_file(row))
            return tuple(JobResults(job=rows.read_job(row), files=tuple(files[row["id"]])) for row in page)

    def restart_jobs(self, job_ids: Sequence[UUID]) -> tuple[UUID, ...]:
        with self._transaction() as cursor:
            live = cursor.execute(_RESTART, (JobState.QUEUED.value, list(job_ids))).fetchall()
            restarted = [row["id"] for row in live]
            cursor.execute("DELETE FROM shards WHERE job_id = ANY(%s)", (restarted,))
            for job in map(rows.read_job, live):
                announce(cursor, job, {"recovered": True})
            cursor.execute(_FORGET_SHARDS, (list(job_ids), [JobState.FAILED.value, JobState.CANCELLED.value]))
            return tuple(restarted)

    def count_records(self) -> Mapping[str, Any]:
        with self._transaction() as cursor:
            return count_records(cursor)

    @contextmanager
    def _transaction(self) -> Generator[Cursor]:
        with begin_as_system(self._owner_dsn(), also=("DELETE ON shards",)) as cursor:
            yield cursor


#: Not a move of the state machine: the database itself went back in time, and with it whoever worked on the job.
_RESTART = """
    UPDATE jobs SET state = %s, version = version + 1, plan_key = NULL, plan_digest = NULL, shards_total = 0,
        shards_remaining = 0, tiles_planned = 0, tiles_inferred = 0, tiles_unreadable = 0, tiles_per_second = NULL,
        first_lease_at = NULL, updated_at = now(), pushed_at = now(), woken_at = now()
    WHERE id = ANY(%s) AND finished_at IS NULL
    RETURNING *
"""
#: `adapters.postgres.shards.take_over` takes only shards that were leased within some days.
_FORGET_SHARDS = """
    UPDATE shards SET leased_at = NULL
    WHERE state = 'DONE' AND job_id IN (SELECT id FROM jobs WHERE id = ANY(%s) AND state = ANY(%s))
"""


def _move_slide(cursor: Cursor, move: SlideMove) -> None:
    slide = slides.lock(cursor, move.slide_id)
    if move.is_upload:
        slides.move(cursor, slide.id, SlideState.DELETED, source=SlideState.UPLOADING)
    for file in move.files:
        cursor.execute(
            "UPDATE slide_files SET uri = %s, etag = %s, clean_uri = %s WHERE slide_id = %s AND position = %s",
            (file.uri, file.etag, file.clean_uri, slide.id, file.position),
        )
    if move.forgets_copies:
        cursor.execute(
            "UPDATE slide_files SET clean_uri = NULL, clean_upload_id = NULL WHERE slide_id = %s", (slide.id,)
        )
        cursor.execute("UPDATE slides SET removed = NULL WHERE id = %s", (slide.id,))
    # Due at once, and not given up since a day has passed.
    cursor.execute(
        "UPDATE slides SET updated_at = now(), woken_at = 'epoch' WHERE id = %s AND state = 'UPLOADED'", (slide.id,)
    )
    cursor.execute(
        "UPDATE slides SET restored_until = now() WHERE id = %s AND state = 'READY' AND restored_until IS NOT NULL",
        (slide.id,),
    )
    if [(file.uri, file.etag) for file in move.files] != [(file.uri, file.etag) for file in slide.files]:
        cursor.execute(
            "INSERT INTO audit_log (tenant, actor, action, subject, detail) VALUES (%s, %s, 'slide.recover', %s, %s)",
            (slide.tenant, _OWNER, str(slide.id), Jsonb({"from": slide.files[0].uri.split("/")[2]})),
        )
