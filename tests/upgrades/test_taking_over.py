"""Today's release takes over from the last one: it reads what that wrote, and finishes what that began."""

from __future__ import annotations

import csv
import io
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import psycopg
import pytest
from psycopg.rows import dict_row

from adapters.postgres.connections import Connections
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.postgres.tenant_ledger import PostgresTenantLedger
from adapters.settings import processes
from adapters.settings.queues import HEAVY, POD_QUEUES, QUEUES, WOKEN
from gpu_worker.drain import Drain
from gpu_worker.worker import Worker
from lambdas import inspect, notify, plan, relay, stitch
from lambdas.wiring import ApiWiring
from local.options import MODELS, RESULTS, SHARED
from local.pollers import Mapped, QueuePoller
from local.postgres import SUPERUSER
from tests.fakes.notices import MemoryMail, MemoryWebhooks
from tests.fakes.push import MemoryPublisher
from tests.fakes.queues import MemoryQueues
from tests.gpu_worker.installation import SHORT
from tests.installation import SCALING
from tests.lambdas.rest import Caller, Reply, whole_handler
from tests.postgres import Database, PostgresServer
from tests.upgrades.last_release import find_complaints
from tests.upgrades.left_behind import LeftBehind
from wsi.planning.plan import Plan
from wsi.records.identity import Actor, Role
from wsi.records.results import ResultFile
from wsi.results.shard_result import ShardResult
from wsi.results.stitching import stitch as stitch_plan
from wsi.slide.files.scratch import ScratchSpace

LEFT = LeftBehind()
TILES = 288
TABLES = ("tiles.csv", "tile_quality.csv")
ANYBODY = Actor(tenant=LEFT.tenant, subject="user:analyst", role=Role.ANALYST)


# --- what it wrote


def test_the_fixtures_hold_messages_of_every_queue():
    assert {row["topic"] for row in LEFT.messages} == QUEUES.keys() - {"wake"}, "a wake-up is an empty object"


def test_a_plan_of_the_last_release_is_read_with_its_digest():
    for name in ("finished", "killed", "planned"):
        job = LEFT.find("jobs", LEFT.ids[name])
        read = Plan.from_bytes(LEFT.read_plan(job["id"]))
        assert read.digest == job["plan_digest"]
        assert (len(read.tiles), sum(read.shard_sizes)) == (TILES, TILES)


class Files:
    """A result sink in memory."""

    def __init__(self) -> None:
        self.written: dict[str, bytes] = {}

    def write(self, name: str, media_type: str, write: Callable[[IO[bytes]], None]) -> ResultFile:
        buffer = io.BytesIO()
        write(buffer)
        self.written[name] = buffer.getvalue()
        return ResultFile(name=name, key=name, size=len(self.written[name]), sha256="0" * 64, media_type=media_type)


def test_shards_of_the_last_release_are_stitched_into_the_tables_that_it_stitched():
    job = LEFT.ids["finished"]
    shards = map(ShardResult.from_bytes, LEFT.read_shard_files(job, "result.npz"))
    sink = Files()
    stitch_plan(Plan.from_bytes(LEFT.read_plan(job)), shards, sink, run={})
    before = LEFT.read_results(job)
    assert sink.written.keys() == before.keys()
    assert {name: sink.written[name] == before[name] for name in TABLES} == dict.fromkeys(TABLES, True)


# --- what it began


@dataclass
class Today:
    """Today's functions and worker over what is left, with the queues of the last release empty."""

    database: Database
    folder: Path

    def __post_init__(self) -> None:
        self.connections = Connections(self.database.system_dsn), Connections(self.database.api_dsn)
        self.ledger = PostgresSystemLedger(self.connections[0])
        self.queues = MemoryQueues(
            lambda: datetime.now(UTC), max_receives={name: row.receives for name, row in QUEUES.items()}
        )
        self.objects, self.packages = LEFT.restore_objects(RESULTS), LEFT.restore_packages()
        self.slides = LEFT.restore_slides(self.ledger.list_sources)
        self.publisher, self.mail = MemoryPublisher(), MemoryMail()
        scratch = ScratchSpace(self.folder, 2**30)
        read = {"ledger": self.ledger, "slides": self.slides, "objects": self.objects, "scratch": scratch}
        handlers = {
            "wake": relay.make_handler(
                ledger=self.ledger, queues=self.queues, publisher=self.publisher, shards_in_flight=3
            ),
            "inspect": inspect.make_handler(**read),
            "plan": plan.make_handler(**read, queues=self.queues, shard_tiles=96),
            "stitch": stitch.make_handler(ledger=self.ledger, objects=self.objects, queues=self.queues),
            "notify": notify.make_handler(ledger=self.ledger, webhooks=MemoryWebhooks(), mail=self.mail),
        }
        mapped = [Mapped(queue=name, function=WOKEN[name], handler=made) for name, made in handlers.items()]
        heavy = Mapped(queue=HEAVY, function=WOKEN["plan"], handler=handlers["plan"])
        self.pollers = [QueuePoller(self.queues, one) for one in (*mapped, heavy)]
        self.relay = handlers["wake"]
        self.api = Caller(
            whole_handler(
                ApiWiring(
                    ledger=PostgresTenantLedger(self.connections[1]),
                    slides=self.slides,
                    packages=self.slides,
                    objects=self.objects,
                    queues=self.queues,
                    dollars_per_gpu_hour=1.0,
                    scaling=SCALING,
                )
            ),
            ANYBODY,
        )

    def close(self) -> None:
        for one in self.connections:
            one.close()

    def get(self, path: str) -> Reply:
        reply = self.api("GET", path)
        assert reply.status == 200, (path, reply)
        return reply

    def job(self, name: str) -> dict[str, Any]:
        return self.get(f"/jobs/{LEFT.ids[name]}").body

    def sql(self, query: str) -> list[dict[str, Any]]:
        with psycopg.connect(
            self.database.server.make_dsn(SUPERUSER, self.database.name), row_factory=dict_row
        ) as connection:
            cursor = connection.execute(query.encode())
            return cursor.fetchall() if cursor.description else []

    def receive_everything_again(self) -> None:
        """Send every message that the last release ever wrote: SQS may deliver any of them late, or twice."""
        self.sql("UPDATE outbox SET sent_at = NULL, claimed_until = NULL")
        self.queues.send("wake", {}, group="wake", traceparent="")

    def work(self) -> None:
        """Run functions and a worker until no message is left."""
        for _ in range(20):
            while sum(poller.poll() for poller in self.pollers if self.queues.depth(poller._mapped.queue)):
                pass
            if not any(self.queues.depth(name) for name in POD_QUEUES):
                return
            self.run_worker()
        raise AssertionError({name: self.queues.depth(name) for name in QUEUES})

    def run_worker(self) -> None:
        settings = processes.WorkerSettings(
            region="eu-central-1",
            database_dsn="",
            slides_bucket="tessera-slides",
            results_bucket=RESULTS,
            models_bucket=MODELS,
            allowed_buckets=SHARED,
            scratch=str(self.folder / "scratch"),
            model_cache=str(self.folder / "models"),
            idle_seconds=1.2,
            lease_seconds=12.0,
            decode_workers=1,
        )
        worker = Worker(
            settings,
            ledger=self.ledger,
            queues=self.queues,
            objects=self.objects,
            slides=self.slides,
            packages=self.packages,
            drain=Drain(),
            waits=SHORT,
        )
        assert worker.run() == 0

    def read_result(self, name: str, file: str) -> bytes:
        (row,) = (row for row in self.sql("SELECT * FROM results") if self.is_of(row, name, file))
        return self.objects.get(row["key"])

    @staticmethod
    def is_of(row: dict[str, Any], name: str, file: str) -> bool:
        return (str(row["job_id"]), row["name"]) == (LEFT.ids[name], file)


@pytest.fixture
def today(postgres: PostgresServer, tmp_path: Path) -> Iterator[Today]:
    database = LEFT.restore_rows(postgres)
    today = Today(database, tmp_path)
    yield today
    today.close()
    postgres.drop(database)


def test_the_api_shows_what_the_last_release_left(today: Today) -> None:
    jobs = today.get("/jobs").body["items"]
    assert {job["job_id"]: job["status"] for job in jobs} == {
        LEFT.ids["finished"]: "COMPLETED",
        LEFT.ids["killed"]: "RUNNING",
        LEFT.ids["planned"]: "RUNNING",
        LEFT.ids["queued"]: "QUEUED",
    }
    finished = today.job("finished")
    assert (finished["tiles_planned"], finished["tiles_inferred"], finished["label"]) == (
        TILES,
        TILES,
        "finished by the last release",
    )
    results = today.get(f"/jobs/{LEFT.ids['finished']}/results").body["items"]
    assert {item["name"]: item["size"] for item in results} == {
        name: len(data) for name, data in LEFT.read_results(LEFT.ids["finished"]).items()
    }
    events = today.get(f"/jobs/{LEFT.ids['finished']}/events").body["items"]
    assert len(events) == sum(row["job_id"] == LEFT.ids["finished"] for row in LEFT.rows["job_events"])
    slides = today.get("/slides").body["items"]
    assert {slide["slide_id"]: slide["status"] for slide in slides} == {
        LEFT.ids["slide"]: "READY",
        LEFT.ids["waiting_slide"]: "UPLOADED",
    }
    assert {"stain-density", "package"} <= {model["name"] for model in today.get("/models").body["items"]}


def test_todays_functions_and_worker_finish_what_the_last_release_began(
    today: Today, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    swept = today.ledger.sweep(upload_days=3, stuck_seconds=900, give_up_seconds=86_400)
    assert swept.leases_expired in (1, 2), "the worker that was killed, and had perhaps taken a second shard"
    today.receive_everything_again()
    today.work()

    states = {name: today.job(name)["status"] for name in ("finished", "killed", "planned", "queued")}
    assert states == dict.fromkeys(states, "COMPLETED")
    assert today.get(f"/slides/{LEFT.ids['waiting_slide']}").body["status"] == "READY"
    assert [today.queues.depth(f"{name}-dlq") for name in QUEUES] == [0 for _ in QUEUES]
    assert today.sql("SELECT * FROM outbox WHERE sent_at IS NULL") == []
    said = [{**vars(one), "message": one.getMessage(), "level": one.levelname} for one in caplog.records]
    assert find_complaints(said) == []

    # Each tile once: a shard has one commit, and the killed one resumed where the old checkpoint ends.
    committed = Counter(
        (str(row["job_id"]), row["detail"]["shard"])
        for row in today.sql("SELECT job_id, detail FROM job_events WHERE kind = 'shard_committed'")
    )
    assert set(committed.values()) == {1}
    left = [row["tiles_done"] for row in LEFT.rows["shards"] if row["state"] == "RUNNING" and row["tiles_done"]]
    resumed = [record.__dict__["tiles"] for record in caplog.records if record.getMessage() == "resumed"]
    assert resumed == left
    assert len(left) == 1

    # The tables are those of the last release: its own tiles to the byte, today's within the card's tolerance.
    before = read_table(LEFT.read_results(LEFT.ids["finished"])["tiles.csv"])
    for name in ("killed", "planned"):
        rows = read_table(today.read_result(name, "tiles.csv"))
        assert len(rows) == len(before) == TILES
        for row, expected in zip(rows, before, strict=True):
            assert row == pytest.approx(expected, abs=1e-3)
    assert today.read_result("finished", "tiles.csv") == LEFT.read_results(LEFT.ids["finished"])["tiles.csv"]
    assert json.loads(today.read_result("queued", "summary.json"))["model"]["name"] == "package"


def read_table(table: bytes) -> list[list[float]]:
    return [list(map(float, row)) for row in list(csv.reader(io.StringIO(table.decode())))[1:]]
