"""Slides and their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Jsonb

from adapters.postgres import rows
from adapters.postgres.connections import Cursor
from wsi.errors import RejectReason
from wsi.ledger_rules import (
    check_restatable,
    deleted_slide,
    is_identified,
    is_inspected_anew,
    nameless,
    no_slide,
    slide_in_use,
    slide_message,
)
from wsi.records.identity import Actor
from wsi.records.pages import Page, cursor_after, read_cursor
from wsi.records.restatement import Restatement
from wsi.records.slides import Choice, Slide, SlideFile
from wsi.states import SLIDE_MOVES, SlideState, sources
from wsi.tracing import new_traceparent

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


def get(cursor: Cursor, slide_id: UUID) -> Slide:
    return _one(cursor, _GET, slide_id)


def locked(cursor: Cursor, slide_id: UUID) -> Slide:
    return _one(cursor, _GET_LOCKED, slide_id)


def kept(cursor: Cursor, slide_id: UUID) -> Slide:
    """The slide, with a lock that keeps it from being deleted or archived until the transaction ends."""
    return _one(cursor, _GET_SHARED, slide_id)


def _one(cursor: Cursor, query: sql.Composed, slide_id: UUID) -> Slide:
    row = cursor.execute(query, (slide_id,)).fetchone()
    if row is None:
        raise no_slide()
    return rows.slide(row)


def page(cursor: Cursor, *, q: str | None, state: SlideState | None, after: str | None, limit: int) -> Page[Slide]:
    time, last = read_cursor(after) if after else (None, None)
    found = cursor.execute(_PAGE, {"q": q, "state": state, "time": time, "id": last, "rows": limit + 1}).fetchall()
    items = tuple(rows.slide(row) for row in found[:limit])
    return Page(items, cursor_after(items[-1].created_at, items[-1].id) if len(found) > limit else None)


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
) -> Slide:
    chosen = Jsonb(choice.as_json()) if choice is not None else None
    cursor.execute(
        """
        INSERT INTO slides (id, tenant, name, state, mpp, choice, digest, deidentify, created_by)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
        """,
        (slide_id, actor.tenant, name, state, mpp, chosen, digest, deidentify, actor.subject),
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


def complete_upload(cursor: Cursor, slide_id: UUID, *, digest: str, etags: Mapping[str, str]) -> tuple[Slide, bool]:
    """The slide, and whether this call completed it."""
    slide = locked(cursor, slide_id)
    if slide.state is SlideState.DELETED:
        raise deleted_slide()
    if not move(cursor, slide_id, SlideState.UPLOADED, source=SlideState.UPLOADING, digest=digest):
        return slide, False
    cursor.executemany(
        "UPDATE slide_files SET etag = %s, upload_id = NULL WHERE slide_id = %s AND uri = %s",
        [(etag, slide_id, uri) for uri, etag in etags.items()],
    )
    slide = get(cursor, slide_id)
    send_to_inspection(cursor, slide)
    return slide, True


def restate(cursor: Cursor, slide_id: UUID, restatement: Restatement) -> tuple[Slide, bool]:
    """The slide, and whether this call changed it."""
    slide = locked(cursor, slide_id)
    if slide.state is SlideState.DELETED:
        raise deleted_slide()
    stated = restatement.applied(slide)
    if is_inspected_anew(slide, restatement):
        _inspect_again(cursor, slide, stated)
    elif stated.name != slide.name:
        cursor.execute(
            "UPDATE slides SET name = %s, version = version + 1, updated_at = now() WHERE id = %s",
            (stated.name, slide_id),
        )
    else:
        return slide, False
    return get(cursor, slide_id), True


def _inspect_again(cursor: Cursor, slide: Slide, stated: Slide) -> None:
    check_restatable(slide, datetime.now(UTC))
    check_unused(cursor, slide.id)
    choice = Jsonb(stated.choice.as_json()) if stated.choice is not None else None
    found = {"reason": None, "sentence": None, "inspection": None, "thumbnail_key": None}
    changes: dict[str, Any] = {"name": stated.name, "mpp": stated.mpp, "choice": choice, **found}
    moved = move(cursor, slide.id, SlideState.UPLOADED, source=slide.state, **changes)
    assert moved, "the slide is locked, and was READY or REJECTED"
    send_to_inspection(cursor, slide)


def delete(cursor: Cursor, slide_id: UUID) -> tuple[Slide, bool]:
    """The slide, and whether this call deleted it."""
    slide = locked(cursor, slide_id)
    if slide.state is SlideState.DELETED:
        return slide, False
    check_unused(cursor, slide_id)
    move(cursor, slide_id, SlideState.DELETED)
    return get(cursor, slide_id), True


def check_unused(cursor: Cursor, slide_id: UUID) -> None:
    """Raises Conflict while a live job reads the slide. The caller holds its lock: none begins to."""
    if is_read(cursor, slide_id):
        raise slide_in_use()


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
    """Compare-and-set, from `source` and at this version only, when given. False: somebody else was first."""
    also = sql.SQL("").join(sql.SQL(", {} = {}").format(sql.Identifier(k), sql.Placeholder(k)) for k in changes)
    query = sql.SQL(
        """
        UPDATE slides SET state = %(to)s, version = version + 1, updated_at = now(), woken_at = now() {also}
        WHERE id = %(id)s AND state = ANY(%(sources)s) AND (%(at)s::int IS NULL OR version = %(at)s)
        """
    ).format(also=also)
    guard = [state.value for state in sources(SLIDE_MOVES, to) if source in (None, state)]
    values = {**changes, "to": to, "id": slide_id, "sources": guard, "at": at_version}
    return cursor.execute(query, values).rowcount == 1


def reject(
    cursor: Cursor, slide_id: UUID, reason: RejectReason, sentence: str, *, at_version: int | None = None
) -> bool:
    """One whose files still say whom they are of loses its names, and is sent to inspection, which deletes them."""
    why: dict[str, Any] = {"reason": reason.value, "sentence": sentence}
    if not move(cursor, slide_id, SlideState.REJECTED, at_version=at_version, **why):
        return False
    slide = get(cursor, slide_id)
    if is_identified(slide):
        _forget_names(cursor, slide_id)
        send_to_inspection(cursor, slide)
    return True


def _forget_names(cursor: Cursor, slide_id: UUID) -> None:
    cursor.execute("UPDATE slides SET name = %s WHERE id = %s", (nameless(slide_id), slide_id))
    cursor.execute("UPDATE slide_files SET name = to_char(position, 'FM00000') WHERE slide_id = %s", (slide_id,))


def send_to_inspection(cursor: Cursor, slide: Slide) -> None:
    cursor.execute(
        "INSERT INTO outbox (tenant, topic, body, traceparent) VALUES (%s, 'inspect', %s, %s)",
        (slide.tenant, Jsonb(slide_message(slide.id)), new_traceparent()),
    )
