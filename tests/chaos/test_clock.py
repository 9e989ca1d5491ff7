"""The clock of a database's server is moved while it runs, and all its sessions see it at once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from local.postgres import SUPERUSER, EmbeddedPostgres
from tests.chaos.clock import Clock, find_library
from tests.stack.lab import eventually

LIBRARY = find_library()
pytestmark = pytest.mark.skipif(
    LIBRARY is None, reason="libfaketime is not installed: `apt-get install libfaketime` installs it."
)


@pytest.fixture
def clock() -> Iterator[Clock]:
    assert LIBRARY
    clock = Clock(LIBRARY)
    yield clock
    clock.remove()


@pytest.fixture
def session(clock: Clock) -> Iterator[psycopg.Connection]:
    with tempfile.TemporaryDirectory(prefix="chaos-clock-") as folder:
        server = EmbeddedPostgres(Path(folder), durable=False, environment=clock.environment)
        server.start()
        try:
            with psycopg.connect(server.make_dsn(SUPERUSER, "postgres"), autocommit=True) as session:
                yield session
        finally:
            server.stop()


def ahead(session: psycopg.Connection, clock: str = "clock_timestamp()") -> float:
    row = session.execute(f"SELECT extract(epoch FROM {clock})::float8".encode()).fetchone()
    assert row is not None
    return row[0] - time.time()


def test_a_running_server_sees_its_clock_jump_both_ways(session: psycopg.Connection, clock: Clock) -> None:
    assert ahead(session) == pytest.approx(0, abs=1)
    clock.jump(90)
    assert ahead(session) == pytest.approx(90, abs=1)
    clock.jump(-120)
    assert ahead(session) == pytest.approx(-30, abs=1)


def test_the_date_of_an_open_transaction_stays(session: psycopg.Connection, clock: Clock) -> None:
    with session.transaction():
        session.execute("SELECT 1")
        clock.jump(90)
        assert ahead(session) == pytest.approx(90, abs=1)
        assert ahead(session, "now()") == pytest.approx(0, abs=1)


def test_a_clock_that_went_back_goes_forward_again(session: psycopg.Connection, clock: Clock) -> None:
    clock.jump_back(60, lasts=0.5)
    assert ahead(session) == pytest.approx(-60, abs=1)
    eventually(lambda: ahead(session) > -1, seconds=10, what="the clock as it was")
