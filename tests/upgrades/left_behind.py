"""What the last release left behind, as `tools.release_fixtures` kept it, restored for today's code: its rows in a real
Postgres, its objects in memory."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb

from adapters.postgres.owner.migrate import migrate
from local.options import MODELS, RESULTS, SHARED, SLIDES
from local.postgres import SUPERUSER
from tests.fakes.objects import MemoryObjects
from tests.fakes.slides import MemorySlideStore
from tests.postgres import Database, PostgresServer
from wsi import keys
from wsi.sources.source import Source

FOLDER = Path(__file__).with_name("release")
STOPPED = timedelta(minutes=5)  #: ago: the lease of the killed worker has expired, and nothing is given up yet


@dataclass(frozen=True)
class LeftBehind:
    folder: Path = FOLDER

    @cached_property
    def ids(self) -> Mapping[str, str]:
        """The ids of jobs and slides by their state, the schema's revision, the time."""
        return json.loads((self.folder / "left.json").read_text())

    @cached_property
    def rows(self) -> Mapping[str, list[dict[str, Any]]]:
        """Rows by table."""
        return json.loads((self.folder / "rows.json").read_text())

    @property
    def tenant(self) -> UUID:
        return UUID(self.rows["jobs"][0]["tenant"])

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Rows of the outbox that are for queues."""
        return [row for row in self.rows["outbox"] if row["topic"] != "push"]

    def find(self, table: str, row_id: str) -> dict[str, Any]:
        return next(row for row in self.rows[table] if row["id"] == row_id)

    def read_objects(self, bucket: str) -> Iterator[tuple[str, bytes]]:
        folder = self.folder / "objects" / bucket
        for path in sorted(file for file in folder.rglob("*") if file.is_file()):
            key, data = path.relative_to(folder).as_posix(), path.read_bytes()
            yield (key.removesuffix(".xz"), lzma.decompress(data)) if key.endswith(".xz") else (key, data)

    def read_plan(self, job: str) -> bytes:
        return dict(self.read_objects(RESULTS))[keys.of_plan(self.tenant, UUID(job))]

    def read_results(self, job: str) -> dict[str, bytes]:
        """The job's result files by name."""
        prefix = keys.of_result(self.tenant, UUID(job), "")
        found = self.read_objects(RESULTS)
        return {key.removeprefix(prefix): data for key, data in found if key.startswith(prefix)}

    def read_shard_files(self, job: str, name: str) -> list[bytes]:
        """What workers wrote for the job's shards under this name, by shard."""
        prefix = f"{keys.SHARDS}{self.tenant}/{job}/"
        return [data for key, data in self.read_objects(RESULTS) if key.startswith(prefix) and key.endswith(name)]

    def restore_objects(self, bucket: str) -> MemoryObjects:
        objects = MemoryObjects()
        for key, data in self.read_objects(bucket):
            objects.put(key, data)
        return objects

    def restore_slides(self, list_sources: Callable[[UUID], Sequence[Source]]) -> MemorySlideStore:
        slides = MemorySlideStore(SLIDES, allowed_buckets=[SHARED], list_sources=list_sources)
        for key, data in self.read_objects(SHARED):
            slides.put_object(f"s3://{SHARED}/{key}", data)
        return slides

    def restore_packages(self) -> MemoryObjects:
        return self.restore_objects(MODELS)

    def restore_rows(self, postgres: PostgresServer) -> Database:
        """Make a database of the release's schema, with its rows as if it had stopped a moment ago; then migrate it."""
        owner = postgres.empty_database()
        migrate(owner, self.ids["revision"])
        database = Database(str(conninfo_to_dict(owner)["dbname"]), postgres.server)
        with psycopg.connect(postgres.server.make_dsn(SUPERUSER, database.name)) as connection:
            connection.execute("SET session_replication_role = replica")  # rows come in any order
            for table, rows in self.rows.items():
                if rows:
                    _insert(connection, table, rows)
        since = datetime.now(UTC) - datetime.fromisoformat(self.ids["captured_at"])
        database.pass_time((STOPPED - since).total_seconds())
        migrate(owner)
        return database


def _insert(connection: psycopg.Connection[Any], table: str, rows: list[dict[str, Any]]) -> None:
    generated = connection.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s"
        " AND is_generated = 'ALWAYS'",
        (table,),
    ).fetchall()
    given = [column for column in rows[0] if (column,) not in generated]
    columns = sql.SQL(", ").join(map(sql.Identifier, given))
    name = sql.Identifier(table)
    connection.execute(
        sql.SQL(
            "INSERT INTO {name} ({columns}) OVERRIDING SYSTEM VALUE"
            " SELECT {columns} FROM jsonb_populate_recordset(NULL::{name}, %s)"
            " ON CONFLICT DO NOTHING"  # what the migrations themselves insert
        ).format(name=name, columns=columns),
        (Jsonb(rows),),
    )
    numbered = connection.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s"
        " AND (is_identity = 'YES' OR column_default LIKE 'nextval%%')",
        (table,),
    ).fetchall()
    for (column,) in numbered:
        connection.execute(
            sql.SQL("SELECT setval(pg_get_serial_sequence(%s, %s), (SELECT max({}) FROM {}))").format(
                sql.Identifier(column), name
            ),
            (table, column),
        )
