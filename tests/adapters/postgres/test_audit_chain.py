"""What somebody with all rights on the database could do to the audit log, and what the verification then says."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg import errors
from psycopg.types.json import Jsonb

from adapters.postgres.owner.auditing import OwnerAudit
from adapters.postgres.owner.migrate import migrate
from local.postgres import OWNER, SUPERUSER
from tests.adapters.postgres.world import PostgresWorld
from tests.contracts.audit.ledger_audit import read
from tests.contracts.ledger_world import ready_slide
from tests.postgres import Database, PostgresServer
from wsi.audit.chain import ChainReport, format_canonically, verify_chain
from wsi.ports.audit import Refusal
from wsi.records.audit.lines import AuditFilter, AuditHead, AuditLine


@pytest.fixture
def lines(world: PostgresWorld) -> list[AuditLine]:
    for number in range(5):
        world.tenants.audit(world.actor, "slide.view", f"slide-{number}")
    return read(world, world.actor)


def tamper(database: Database, *statements: str) -> None:
    with psycopg.connect(database.server.make_dsn(SUPERUSER, database.name)) as connection:
        connection.execute("SET session_replication_role = replica")
        for statement in statements:
            connection.execute(statement.encode())


def verify(world: PostgresWorld, *heads: AuditHead) -> ChainReport:
    return verify_chain(read(world, world.actor), chain=world.actor.tenant, heads=heads)


#: How line 3 of 5 is tampered with, and what is then told.
ATTACKS = {
    "altered": (["UPDATE audit_log SET actor = 'user:other' WHERE subject = 'slide-2'"], "Line 3 or the line before"),
    "removed": (
        [
            "DELETE FROM audit_links USING audit_log WHERE audit_log.seq = audit_links.seq AND subject = 'slide-2'",
            "DELETE FROM audit_log WHERE subject = 'slide-2'",
        ],
        "Lines 3 to 3 are missing",
    ),
    "removed without its link": (["DELETE FROM audit_log WHERE subject = 'slide-2'"], "Lines 3 to 3 are missing"),
    "reordered": (
        [
            "UPDATE audit_links SET number = -number WHERE number IN (2, 3)",
            "UPDATE audit_links SET number = 5 + number WHERE number < 0",
        ],
        "Line 2 or the line before",
    ),
    "inserted": (
        [
            "UPDATE audit_links SET number = -number - 1 WHERE number > 3",
            "UPDATE audit_links SET number = -number WHERE number < 0",
            "INSERT INTO audit_log (tenant, actor, action, subject, detail)"
            " SELECT tenant, actor, action, 'new', detail FROM audit_log LIMIT 1",
            "INSERT INTO audit_links SELECT tenant, 4, seq, sha256('x') FROM audit_log WHERE subject = 'new'",
        ],
        "Line 4 or the line before",
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_line_that_a_superuser_tampers_with_is_found(
    database: Database, world: PostgresWorld, lines: list[AuditLine], attack: str
) -> None:
    assert verify(world).faults == ()
    statements, told = ATTACKS[attack]
    tamper(database, "ALTER TABLE audit_links DROP CONSTRAINT audit_links_number_check", *statements)
    faults = verify(world).faults
    assert faults
    assert faults[0].sentence.startswith(told)


def test_a_cut_tail_is_found_by_a_head_that_was_kept(
    database: Database, world: PostgresWorld, lines: list[AuditLine]
) -> None:
    (head,) = world.system.keep_audit(anchor_seconds=3600)
    cut = "WHERE seq IN (SELECT seq FROM audit_links WHERE number > 3)"
    tamper(database, f"DELETE FROM audit_log {cut}", "DELETE FROM audit_links WHERE number > 3")
    assert verify(world).faults == ()
    (fault,) = verify(world, head).faults
    assert fault.sentence == "Line 5 was there once, and the log ends at line 3."


def test_a_chain_that_is_computed_anew_is_found_by_a_head_that_was_kept(
    database: Database, world: PostgresWorld, lines: list[AuditLine]
) -> None:
    (head,) = world.system.keep_audit(anchor_seconds=3600)
    again = """
        DO $$ DECLARE one record; last bytea := ''; BEGIN
            FOR one IN SELECT number, a.seq FROM audit_log a JOIN audit_links USING (seq) ORDER BY number LOOP
                UPDATE audit_links SET hash = tessera.hash_audit_line(last, one.number, audit_log) FROM audit_log
                WHERE audit_links.seq = one.seq AND audit_log.seq = one.seq RETURNING hash INTO last;
            END LOOP;
        END $$
    """
    tamper(database, "UPDATE audit_log SET actor = 'user:other' WHERE subject = 'slide-2'", again)
    assert verify(world).faults == ()
    (fault,) = verify(world, head).faults
    assert fault.sentence == "Line 5 had another hash when its head was kept."


def test_a_line_that_was_written_past_the_trigger_is_found_by_the_owner(
    database: Database, world: PostgresWorld, lines: list[AuditLine]
) -> None:
    owner = OwnerAudit(lambda: database.server.make_dsn(OWNER, database.name))
    world.system.keep_audit(anchor_seconds=3600)
    assert owner.verify("one").faults == ()
    tamper(
        database,
        "INSERT INTO audit_log (tenant, actor, action, subject, detail)"
        " SELECT tenant, actor, action, 'new', detail FROM audit_log LIMIT 1",
    )
    (fault,) = owner.verify("one").faults
    assert fault.sentence == "1 lines were written without a link of the chain."


def test_the_owner_verifies_against_the_heads_in_the_database(
    database: Database, world: PostgresWorld, lines: list[AuditLine]
) -> None:
    owner = OwnerAudit(lambda: database.server.make_dsn(OWNER, database.name))
    world.system.keep_audit(anchor_seconds=3600)
    cut = "WHERE seq IN (SELECT seq FROM audit_links WHERE number > 3)"
    tamper(database, f"DELETE FROM audit_log {cut}", "DELETE FROM audit_links WHERE number > 3")
    assert owner.verify("one").faults[0].sentence.startswith("Line 5 was there once")


def test_refused_sign_ins_of_nobody_are_lines_of_the_installation(database: Database, world: PostgresWorld) -> None:
    for prefix in ("zzz", "zzz", None):
        world.identities.note_refusal(Refusal.WRONG_SECRET if prefix else Refusal.NOT_VALID, prefix=prefix)
    world.pass_time(61)
    world.system.keep_audit(anchor_seconds=3600)
    owner = OwnerAudit(lambda: database.server.make_dsn(OWNER, database.name))
    page = owner.list_lines(None, AuditFilter(action="session.refuse"), cursor=None, limit=9)
    assert {(line.subject, line.detail["reason"]) for line in page.items} == {
        ("nobody", "unknown"),
        ("nobody", "not_valid"),
    }
    assert sum(line.detail["count"] for line in page.items) == 3
    assert owner.verify(None).is_whole


def test_a_refused_sign_in_does_not_wait_for_the_disk_and_the_next_transaction_does(database: Database) -> None:
    with psycopg.connect(database.api_dsn) as connection:
        connection.execute("SET synchronous_commit = on")  # the servers of tests have it off
        connection.commit()
        connection.execute("SELECT tessera.note_refusal('malformed', NULL, NULL, NULL)")
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("off",)
        connection.commit()
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_no_role_of_a_process_writes_links_or_drops_the_trigger(database: Database, world: PostgresWorld) -> None:
    for dsn in (database.api_dsn, database.system_dsn):
        with psycopg.connect(dsn, autocommit=True) as connection:
            for statement in (
                "INSERT INTO audit_links VALUES (gen_random_uuid(), 1, 1, sha256(''))",
                "ALTER TABLE audit_log DISABLE TRIGGER link",
                "DROP TRIGGER link ON audit_log",
                "SET session_replication_role = replica",
                "INSERT INTO audit_marks VALUES (gen_random_uuid(), '', '', '', now())",
                "SELECT tessera.hash_audit_line('', 1, NULL)",
            ):
                with pytest.raises(errors.InsufficientPrivilege):
                    connection.execute(statement.encode())


def test_a_writer_can_not_choose_the_time_of_a_line(database: Database, world: PostgresWorld) -> None:
    with psycopg.connect(database.api_dsn) as connection:
        connection.execute("SELECT tessera.enter(%s)", (world.actor.tenant,))
        connection.execute(
            "INSERT INTO audit_log (tenant, actor, action, subject, detail, at) VALUES (%s, '', '', '', '{}', 'epoch')",
            (world.actor.tenant,),
        )
    (line,) = read(world, world.actor)
    assert line.at.year > 2000
    assert verify(world).is_whole


def test_parallel_writers_of_a_tenant_make_one_chain(world: PostgresWorld) -> None:
    def write(number: int) -> None:
        world.tenants.audit(world.actor, "slide.view", f"{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(80)))
    report = verify(world)
    assert (report.lines, report.faults) == (80, ())
    world.api.close()


def test_two_transactions_that_note_first_and_lock_later_do_not_deadlock(
    database: Database, world: PostgresWorld
) -> None:
    """The chain's lock is taken at the commit, behind all others."""
    slide = ready_slide(world)
    insert = "INSERT INTO audit_log (tenant, actor, action, subject, detail) VALUES (%s, '', '', '', '{}')"
    lock = "SELECT FROM slides WHERE id = %s FOR UPDATE"
    tenant = (world.actor.tenant,)
    with (
        psycopg.connect(database.api_dsn) as one,
        psycopg.connect(database.api_dsn) as two,
        ThreadPoolExecutor(1) as pool,
    ):
        for connection in (one, two):
            connection.execute("SELECT tessera.enter(%s)", tenant)
        two.execute(lock, (slide.id,))
        one.execute(insert, tenant)
        waiting = pool.submit(one.execute, lock, (slide.id,))
        two.execute(insert, tenant)
        two.commit()
        waiting.result()
        one.commit()
    assert verify(world).lines == 4


def test_old_lines_are_linked_by_the_migration(postgres: PostgresServer) -> None:
    dsn = postgres.empty_database()
    migrate(dsn, "0018")
    with psycopg.connect(dsn) as owner:
        for name in ("one", "two"):
            owner.execute("INSERT INTO tenants (name) VALUES (%s)", (name,))
        for number in range(6):
            owner.execute(
                "INSERT INTO audit_log (tenant, actor, action, subject, detail)"
                " SELECT id, 'user:1', 'slide.view', %s, '{}' FROM tenants",
                (str(number),),
            )
    migrate(dsn)
    audit = OwnerAudit(lambda: dsn)
    for name in ("one", "two"):
        report = audit.verify(name)
        assert (report.lines, report.faults) == (6, ())


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=4), inner, max_size=4)
    ),
    max_leaves=8,
)


def test_json_is_written_as_postgres_writes_it(database: Database) -> None:
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:

        @settings(max_examples=150)
        @given(VALUES)
        def check(value: object) -> None:
            row = connection.execute("SELECT %s::jsonb::text, %s::jsonb", (Jsonb(value), Jsonb(value))).fetchone()
            assert row is not None
            assert format_canonically(row[1]) == row[0]

        check()


def test_the_hash_is_over_the_content_that_is_documented(world: PostgresWorld, lines: list[AuditLine]) -> None:
    first, at = lines[0], lines[0].at.strftime("%Y-%m-%dT%H:%M:%S.%f")
    content = f'[1, "{first.tenant}", "{at}Z", "{first.actor}", "slide.view", "slide-0", {{}}]'
    assert first.hash == hashlib.sha256(content.encode()).hexdigest()
