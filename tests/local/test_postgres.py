"""The launcher of embedded Postgres; as root it also proves that no parent folder is opened."""

from __future__ import annotations

import os
import signal
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from local.ports import PORTS
from local.postgres import EmbeddedPostgres


@pytest.fixture
def folder() -> Iterator[Path]:
    """Below /tmp itself: pytest's own folder is closed to `nobody`."""
    with tempfile.TemporaryDirectory(prefix="tessera-launcher-") as name:
        yield Path(name)


def test_data_outlive_a_restart_and_a_running_server_is_taken_over(folder: Path) -> None:
    server = EmbeddedPostgres(folder, durable=True)
    server.start()
    try:
        assert server.port in PORTS
        owner = server.create_database("slides")
        assert server.create_database("slides") == owner
        with psycopg.connect(owner) as connection:
            connection.execute("CREATE TABLE kept (id int)")
            assert connection.execute("SELECT lower('ÄÖ')").fetchone() == ("äö",)
        successor = EmbeddedPostgres(folder, durable=True)
        successor.start()
        assert successor.port == server.port
        server.stop()
        server.start()
        with psycopg.connect(server.make_dsn("tessera_owner", "slides")) as connection:
            assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)
    finally:
        server.stop()
    server.stop()


def test_a_server_killed_a_moment_ago_is_not_taken_over(folder: Path) -> None:
    server = EmbeddedPostgres(folder, durable=True)
    server.start()
    try:
        owner = server.create_database("slides")
        with psycopg.connect(owner) as connection:
            connection.execute("CREATE TABLE kept (id int)")
        os.kill(int((folder / "postmaster.pid").read_text().splitlines()[0]), signal.SIGKILL)
        server.start()
        with psycopg.connect(server.make_dsn("tessera_owner", "slides")) as connection:
            assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)
    finally:
        server.stop()
    assert not server.is_running


def test_a_closed_parent_stays_closed(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    before = {path: stat.S_IMODE(path.stat().st_mode) for path in (closed, *closed.parents)}
    server = EmbeddedPostgres(closed / "postgres", durable=False)
    try:
        server.start()
        with psycopg.connect(server.make_dsn("postgres", "postgres")) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
            shared = connection.execute("SHOW data_directory").fetchone()
    finally:
        server.remove()
    assert {path: stat.S_IMODE(path.stat().st_mode) for path in before} == before
    assert shared
    assert not Path(shared[0]).exists()
    assert Path(shared[0]).is_relative_to(closed) == (os.geteuid() != 0)


def test_nobody_signs_in_without_the_secret_of_the_cluster(folder: Path) -> None:
    server = EmbeddedPostgres(folder, durable=False)
    server.start()
    try:
        server.create_database("slides")
        for role in ("postgres", "tessera_owner"):
            at = f"host=127.0.0.1 port={server.port} dbname=slides user={role}"
            for password in ("", "postgres", "test"):
                with pytest.raises(psycopg.OperationalError, match="password"):
                    psycopg.connect(at, password=password)
            with psycopg.connect(server.make_dsn(role, "slides")) as connection:
                assert connection.execute("SELECT current_user").fetchone() == (role,)
    finally:
        server.stop()


def test_the_secret_is_for_the_servers_user_alone(folder: Path) -> None:
    server = EmbeddedPostgres(folder, durable=False)
    server.start()
    try:
        held = folder / "tessera.secret"
        assert stat.S_IMODE(held.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert held.stat().st_uid == folder.stat().st_uid
    finally:
        server.stop()


def test_a_cluster_that_let_anybody_in_demands_passwords_after_an_upgrade(folder: Path) -> None:
    server = EmbeddedPostgres(folder, durable=True)
    server.start()
    try:
        with psycopg.connect(server.create_database("slides")) as connection:
            connection.execute("CREATE TABLE kept (id int)")
        server.stop()
        (folder / "tessera.secret").unlink()
        (folder / "pg_hba.conf").write_text("host all all 127.0.0.1/32 trust\n")
        upgraded = EmbeddedPostgres(folder, durable=True)
        upgraded.start()
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(f"host=127.0.0.1 port={upgraded.port} dbname=slides user=tessera_owner")
        with psycopg.connect(upgraded.make_dsn("tessera_owner", "slides")) as connection:
            assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)
    finally:
        server.stop()


def test_the_servers_process_alone_gets_further_variables(folder: Path) -> None:
    server = EmbeddedPostgres(folder, durable=True, environment={"TESSERA_MARK": "here"})
    server.start()
    try:
        pid = int((folder / "postmaster.pid").read_text().splitlines()[0])
        assert b"TESSERA_MARK=here" in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        assert "TESSERA_MARK" not in os.environ
    finally:
        server.stop()
