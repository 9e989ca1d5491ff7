"""An identifier in every column that holds text: where it is gone after a deletion, and why it may stay elsewhere.

The columns are those of the schema. A new one fails here until it is planted, or says why nothing of a slide gets
there; `tests/stack/erasure` shows the same of what people and files say, through the whole stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from local.postgres import SUPERUSER
from tests.adapters.postgres.world import PostgresWorld
from tests.contracts.ledger_world import (
    KEY_NAME,
    RESULT,
    commit,
    completed_job,
    lease,
    new_job,
    plan,
    ready_slide,
    submit,
)
from tests.postgres import Database
from wsi.records.slides import Slide

SAID = "Doeringer"

#: Columns that take what a person or a file says of a slide, by table. After a deletion nothing of it is left.
PLANTED = {
    "slides": ("name", "digest", "reason", "sentence", "inspection", "thumbnail_key", "choice"),
    "slide_files": ("name", "uri", "etag"),
    "jobs": ("sentence", "options", "label", "identity", "plan_key", "plan_digest", "notify_email", "notify_webhook"),
    "shards": ("reason",),
    "results": ("name", "key", "sha256", "media_type"),
    "deliveries": ("target", "error"),
    "idempotency_keys": ("key", "body_digest"),
    "job_followers": ("target",),
}
_OURS = "a word of ours, from a list"
_ID = "an id that we made"
_KEY = "a key of ours, made of ids"
_CALLER = "about who calls, not about a slide"
_MODEL = "about a model, which belongs to no slide"
#: Why nothing of a slide can be in the others.
WITH_REASON = {
    "slides": {
        "state": _OURS,
        "created_by": _ID,
        "traceparent": _ID,
        "restore_tier": _OURS,
        "removed": "counts, never the values",
    },
    "slide_files": {
        "upload_id": "S3's id of an upload that is still to be aborted",
        "clean_uri": _KEY,
        "clean_upload_id": "S3's id of an upload that is still to be aborted",
    },
    "jobs": {
        **dict.fromkeys(("state", "reason", "priority"), _OURS),
        **dict.fromkeys(("created_by", "traceparent"), _ID),
        **dict.fromkeys(("model", "model_version", "model_digest"), _MODEL),
    },
    "shards": {
        **dict.fromkeys(("state", "waits_in"), _OURS),
        "lease_owner": "the name of a pod",
        **dict.fromkeys(("checkpoint_key", "result_key"), _KEY),
    },
    "deliveries": {"channel": _OURS},
    "job_events": {"kind": _OURS, "detail": "states, numbers, names of pods, and sentences of ours without a name"},
    "outbox": {"topic": _OURS, "body": "ids and numbers; deleted a week after it was sent", "traceparent": _ID},
    "audit_log": dict.fromkeys(
        ("actor", "action", "subject", "detail"), "never erased: ids, counts, and which fields were stated"
    ),
    "tenants": {"name": _CALLER},
    "users": dict.fromkeys(("issuer", "subject", "role", "email"), _CALLER),
    "api_keys": dict.fromkeys(("name", "prefix", "secret_sha256", "role"), _CALLER),
    "webhook_secrets": dict.fromkeys(("secret", "previous"), _CALLER),
    "quotas": {"top_priority": _OURS},
    "models": {"name": _MODEL},
    "model_versions": dict.fromkeys(("name", "given_name", "version", "digest", "card", "package_uri"), _MODEL),
    "model_registrations": dict.fromkeys(
        ("name", "version", "state", "files", "reason", "sentence", "measured", "created_by"), _MODEL
    ),
    "invitations": dict.fromkeys(("email", "role", "issuer", "subject"), _CALLER),
    "sources": dict.fromkeys(("bucket", "prefix"), "where an operator lets slides lie"),
    "job_followers": {"channel": _OURS},
    "usage_details": {**dict.fromkeys(("model", "model_version"), _MODEL), "requester": _ID},
    "budget_notices": dict.fromkeys(("target", "error"), _CALLER),
    "dead_letters": {
        **dict.fromkeys(("queue", "outcome", "redrive"), _OURS),
        "message_id": "of SQS",
        "body": "a message of ours: ids and numbers; or what nobody can read, which is not shown",
    },
    "audit_links": {"hash": "of a line of the audit log"},
    "audit_anchors": {"hash": "of a line of the audit log"},
    "audit_marks": dict.fromkeys(("actor", "action", "subject"), "as in the audit log"),
    "refused_sign_ins": dict.fromkeys(("subject", "reason"), _CALLER),
    "alembic_version": {"version_num": "of the schema"},
}
#: What the ledger itself demands of a value.
_SHAPES = {
    ("slides", "choice"): '{{"optical_path": "{said}"}}',
    ("jobs", "options"): '{{"choice": {{"optical_path": "{said}"}}}}',
}


@pytest.fixture
def superuser(database: Database) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.server.make_dsn(SUPERUSER, database.name), autocommit=True) as connection:
        yield connection


def columns_of_text(connection: psycopg.Connection) -> dict[tuple[str, str], str]:
    """The type of each column that holds text, by table and name."""
    found = connection.execute(
        """
        SELECT table_name, column_name, data_type FROM information_schema.columns
        WHERE table_schema = 'public'
            AND data_type IN ('text', 'jsonb', 'json', 'character varying', 'character', 'bytea', 'xml', 'ARRAY')
        """
    )
    return {(table, column): kind for table, column, kind in found}


def find_said(connection: psycopg.Connection, said: str) -> set[tuple[str, str]]:
    """Table and name of the columns in any row of which it is."""
    return {
        (table, column)
        for table, column in columns_of_text(connection)
        if connection.execute(
            sql.SQL("SELECT FROM {} WHERE {}::text ILIKE %s LIMIT 1").format(
                sql.Identifier(table), sql.Identifier(column)
            ),
            (f"%{said}%",),
        ).rowcount
    }


def plant(connection: psycopg.Connection) -> None:
    kinds = columns_of_text(connection)
    connection.execute("SET session_replication_role = replica")
    for table, columns in PLANTED.items():
        for column in columns:
            plain = '{{"said": "{said}"}}' if kinds[table, column] == "jsonb" else "{said} of " + column
            value = _SHAPES.get((table, column), plain).format(said=SAID)
            statement = sql.SQL("UPDATE {} SET {} = %s").format(sql.Identifier(table), sql.Identifier(column))
            connection.execute(statement, (value,))


def make_slide_with_jobs(world: PostgresWorld) -> Slide:
    """A slide with a job that ended well, was asked for under a key and told of, and one that failed."""
    slide = ready_slide(world)
    asked = new_job(slide, notify_email="a@hospital.example", notify_webhook="https://hospital.example/hook")
    job = submit(world, asked, key="one", reuse=False).job
    plan(world, job.id, (10,))
    assert commit(world, lease(world, job, 0))
    world.system.commit_results(job.id, (RESULT,))
    assert world.system.claim_deliveries(job.id, seconds=60)
    under_way = new_job(slide, identity="under way")
    submit(world, under_way, reuse=False)
    submit(world, replace(under_way, id=uuid4(), notify_email="b@hospital.example"))
    world.tenants.cancel_job(world.actor, under_way.id)
    completed_job(world, slide=slide)
    return slide


def test_every_column_of_text_is_planted_or_says_why_not(superuser: psycopg.Connection) -> None:
    said = {(table, column) for table, columns in PLANTED.items() for column in columns}
    excused = {(table, column) for table, columns in WITH_REASON.items() for column in columns}
    assert not said & excused
    assert set(columns_of_text(superuser)) == said | excused


def test_after_a_deletion_the_identifier_is_in_no_column(world: PostgresWorld, superuser: psycopg.Connection) -> None:
    slide = make_slide_with_jobs(world)
    plant(superuser)
    assert find_said(superuser, SAID) == {(table, column) for table, columns in PLANTED.items() for column in columns}
    world.tenants.delete_slide(world.actor, slide.id)
    assert find_said(superuser, SAID) == set()


def test_what_the_release_before_deleted_is_found_by_the_sweep(
    world: PostgresWorld, database: Database, superuser: psycopg.Connection
) -> None:
    """It moves the slide, and leaves names, jobs and labels."""
    slide = make_slide_with_jobs(world)
    plant(superuser)
    superuser.execute(
        "UPDATE slides SET state = 'DELETED', version = version + 1, updated_at = now(), woken_at = now()"
    )
    database.pass_time(301)
    assert [found.id for found in world.system.claim_deleted_slides(seconds=300, limit=10)] == [slide.id]
    assert find_said(superuser, SAID) == set()


def test_after_the_deletion_of_a_job_the_identifier_is_in_nothing_of_it(
    world: PostgresWorld, superuser: psycopg.Connection
) -> None:
    make_slide_with_jobs(world)
    plant(superuser)
    for row in superuser.execute("SELECT id FROM jobs").fetchall():
        world.tenants.delete_job(world.actor, row[0])
    assert {table for table, _ in find_said(superuser, SAID)} == {"slides", "slide_files"}


def test_no_line_of_the_audit_log_names_a_person_a_key_or_a_tenant(superuser: psycopg.Connection, world: PostgresWorld):
    make_slide_with_jobs(world)
    lines = [str(row) for row in superuser.execute("SELECT action, subject, detail FROM audit_log").fetchall()]
    assert lines
    assert not any(KEY_NAME in line or "hospital.example" in line for line in lines)
