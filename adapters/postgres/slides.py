"""Slides and their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Jsonb

from adapters.postgres import quotas, rows
from adapters.postgres.access.sources import translate_outside
from adapters.postgres.audit import note
from adapters.postgres.connections import Cursor, Transactions
from wsi.errors import RejectReason
from wsi.ledger_rules import (
    check_restatable,
    choose_inspection_trace,
    make_anonymous_name,
    make_deleted_slide_error,
    make_slide_in_use_error,
    make_slide_message,
    make_unknown_slide_error,
    needs_deidentification,
    needs_reinspection,
)
from wsi.records.identity import Actor
from wsi.records.pages import Page, make_cursor, read_cursor
from wsi.records.restatement import Restatement
from wsi.records.slides import Choice, Slide, SlideFile
from wsi.states import SLIDE_MOVES, SlideState, select_sources

_GET = sql.SQL("SELECT {slide} FROM slides WHERE id = %s").format(slide=rows.SLIDE)
_GET_LOCKED = _GET + sql.SQL(" FOR UPDATE OF slides")
_GET_SHARED = _GET + sql.SQL(" FOR SHARE OF slides")

_PAGE = sql.SQL(
    """
    SELECT {slide} FROM slides
    WHERE (%(q)s::text IS NULL OR strpos(normalize(lower(name)), normalize(lower(%(q)s))) > 0)
        AND CASE WHEN %(state)s::text IS NULL THEN state <> 'DELETED' ELSE state = %(state)s END
        AND (%(time)s::timestamptz IS NULL OR (created_at, id) < (%(time)s, %(id)s))
    ORDER BY created_at DESC, id DESC LIMIT %(rows)s
    """
).format(slide=rows.SLIDE)


class PostgresTenantSlides(Transactions):
    """The API's operations on slides."""

    def create_slide(
        self,
        actor: Actor,
        slide_id: UUID,
        name: str,
        files: Sequence[SlideFile],
        *,
        mpp: float | None,
        choice: Choice | None = None,
        deidentify: bool = False,
        traceparent: str | None = None,
    ) -> Slide:
        state = SlideState.UPLOADING
        with self._transaction(actor.tenant) as cursor:
            quotas.check_new_upload(cursor, actor, files)
            note(cursor, actor, "slide.create", slide_id)
            stated: dict[str, Any] = {"mpp": mpp, "choice": choice, "deidentify": deidentify}
            return insert(cursor, actor, slide_id, name, files, state=state, traceparent=traceparent, **stated)

    def register_slide(
        self,
        actor: Actor,
        slide_id: UUID,
        name: str,
        files: Sequence[SlideFile],
        *,
        mpp: float | None,
        digest: str,
        choice: Choice | None = None,
        traceparent: str | None = None,
    ) -> Slide:
        with translate_outside(), self._transaction(actor.tenant) as cursor:
            note(cursor, actor, "slide.register", slide_id)
            state = SlideState.UPLOADED
            stated: dict[str, Any] = {"mpp": mpp, "choice": choice, "digest": digest}
            return insert(cursor, actor, slide_id, name, files, state=state, traceparent=traceparent, **stated)

    def complete_upload(self, actor: Actor, slide_id: UUID, *, digest: str, etags: Mapping[str, str]) -> Slide:
        with self._transaction(actor.tenant) as cursor:
            slide = lock(cursor, slide_id)
            if slide.state is SlideState.DELETED:
                raise make_deleted_slide_error()
            if not move(cursor, slide_id, SlideState.UPLOADED, source=SlideState.UPLOADING, digest=digest):
                return slide
            cursor.executemany(
                "UPDATE slide_files SET etag = %s, upload_id = NULL WHERE slide_id = %s AND uri = %s",
                [(etag, slide_id, uri) for uri, etag in etags.items()],
            )
            slide = get(cursor, slide_id)
            send_to_inspection(cursor, slide)
            note(cursor, actor, "slide.complete", slide_id)
            return slide

    def get_slide(self, actor: Actor, slide_id: UUID) -> Slide:
        with self._transaction(actor.tenant) as cursor:
            return get(cursor, slide_id)

    def list_slides(
        self, actor: Actor, *, q: str | None, state: SlideState | None, cursor: str | None, limit: int
    ) -> Page[Slide]:
        with self._transaction(actor.tenant) as transaction:
            time, last = read_cursor(cursor) if cursor else (None, None)
            found = transaction.execute(
                _PAGE, {"q": q, "state": state, "time": time, "id": last, "rows": limit + 1}
            ).fetchall()
            items = tuple(rows.read_slide(row) for row in found[:limit])
            return Page(items, make_cursor(items[-1].created_at, items[-1].id) if len(found) > limit else None)

    def restate_slide(self, actor: Actor, slide_id: UUID, restatement: Restatement) -> Slide:
        with self._transaction(actor.tenant) as cursor:
            slide = lock(cursor, slide_id)
            if slide.state is SlideState.DELETED:
                raise make_deleted_slide_error()
            stated = restatement.apply_to(slide)
            if needs_reinspection(slide, restatement):
                _inspect_again(cursor, slide, stated)
            elif stated.name != slide.name:
                cursor.execute(
                    "UPDATE slides SET name = %s, version = version + 1, updated_at = now() WHERE id = %s",
                    (stated.name, slide_id),
                )
            else:
                return slide
            restated = get(cursor, slide_id)
            note(cursor, actor, "slide.restate", slide_id, restatement.make_audit_detail())
            return restated


def get(cursor: Cursor, slide_id: UUID) -> Slide:
    return _one(cursor, _GET, slide_id)


def lock(cursor: Cursor, slide_id: UUID) -> Slide:
    return _one(cursor, _GET_LOCKED, slide_id)


def lock_shared(cursor: Cursor, slide_id: UUID) -> Slide:
    """Return the slide, with a shared lock: nobody can delete or archive it until the transaction ends."""
    return _one(cursor, _GET_SHARED, slide_id)


def _one(cursor: Cursor, query: sql.Composed, slide_id: UUID) -> Slide:
    row = cursor.execute(query, (slide_id,)).fetchone()
    if row is None:
        raise make_unknown_slide_error()
    return rows.read_slide(row)


def insert(
    cursor: Cursor,
    actor: Actor,
    slide_id: UUID,
    name: str,
    files: Sequence[SlideFile],
    *,
    state: SlideState,
    mpp: float | None,
    choice: Choice | None,
    digest: str | None = None,
    deidentify: bool = False,
    traceparent: str | None = None,
) -> Slide:
    chosen = Jsonb(choice.as_json()) if choice is not None else None
    cursor.execute(
        """
        INSERT INTO slides (id, tenant, name, state, mpp, choice, digest, deidentify, created_by, traceparent)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
        """,
        (slide_id, actor.tenant, name, state, mpp, chosen, digest, deidentify, actor.subject, traceparent),
    )
    cursor.executemany(
        """
        INSERT INTO slide_files (slide_id, tenant, position, name, uri, size, upload_id, etag)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
        """,
        [(slide_id, actor.tenant, n, f.name, f.uri, f.size, f.upload_id, f.etag) for n, f in enumerate(files)],
    )
    slide = get(cursor, slide_id)
    if slide.state is SlideState.UPLOADED:
        send_to_inspection(cursor, slide)
    return slide


def _inspect_again(cursor: Cursor, slide: Slide, stated: Slide) -> None:
    check_restatable(slide, datetime.now(UTC))
    check_unused(cursor, slide.id)
    choice = Jsonb(stated.choice.as_json()) if stated.choice is not None else None
    found = {"reason": None, "sentence": None, "inspection": None, "thumbnail_key": None}
    changes: dict[str, Any] = {"name": stated.name, "mpp": stated.mpp, "choice": choice, **found}
    moved = move(cursor, slide.id, SlideState.UPLOADED, source=slide.state, **changes)
    assert moved, "the slide is locked, and was READY or REJECTED"
    send_to_inspection(cursor, slide)


def check_unused(cursor: Cursor, slide_id: UUID) -> None:
    """Raise Conflict while a live job reads the slide. The caller holds the slide's lock, so that no job can begin
    to."""
    if is_read(cursor, slide_id):
        raise make_slide_in_use_error()


def is_read(cursor: Cursor, slide_id: UUID) -> bool:
    live = cursor.execute("SELECT id FROM jobs WHERE slide_id = %s AND finished_at IS NULL LIMIT 1", (slide_id,))
    return live.fetchone() is not None


def move(
    cursor: Cursor,
    slide_id: UUID,
    to: SlideState,
    *,
    source: SlideState | None = None,
    at_version: int | None = None,
    **changes: Any,
) -> bool:
    """Move a slide by compare-and-set, from `source` and at this version only, when given. Return False if another
    process was first."""
    also = sql.SQL("").join(sql.SQL(", {} = {}").format(sql.Identifier(k), sql.Placeholder(k)) for k in changes)
    query = sql.SQL(
        """
        UPDATE slides SET state = %(to)s, version = version + 1, updated_at = now(), woken_at = now() {also}
        WHERE id = %(id)s AND state = ANY(%(sources)s) AND (%(at)s::int IS NULL OR version = %(at)s)
        """
    ).format(also=also)
    guard = [state.value for state in select_sources(SLIDE_MOVES, to) if source in (None, state)]
    values = {**changes, "to": to, "id": slide_id, "sources": guard, "at": at_version}
    return cursor.execute(query, values).rowcount == 1


def reject(
    cursor: Cursor, slide_id: UUID, reason: RejectReason, sentence: str, *, at_version: int | None = None
) -> bool:
    """Reject a slide. If its files still identify the patient, remove its names and send it to inspection, which
    deletes the files."""
    why: dict[str, Any] = {"reason": reason.value, "sentence": sentence}
    if not move(cursor, slide_id, SlideState.REJECTED, at_version=at_version, **why):
        return False
    slide = get(cursor, slide_id)
    if needs_deidentification(slide):
        _forget_names(cursor, slide_id)
        send_to_inspection(cursor, slide)
    return True


def _forget_names(cursor: Cursor, slide_id: UUID) -> None:
    cursor.execute("UPDATE slides SET name = %s WHERE id = %s", (make_anonymous_name(slide_id), slide_id))
    cursor.execute("UPDATE slide_files SET name = to_char(position, 'FM00000') WHERE slide_id = %s", (slide_id,))


def send_to_inspection(cursor: Cursor, slide: Slide) -> None:
    cursor.execute(
        "INSERT INTO outbox (tenant, topic, body, traceparent) VALUES (%s, 'inspect', %s, %s)",
        (slide.tenant, Jsonb(make_slide_message(slide.id)), choose_inspection_trace(slide, datetime.now(UTC))),
    )
