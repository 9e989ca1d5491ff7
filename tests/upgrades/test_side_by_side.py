"""An upgrade under load: workers and functions of the last release and of today, on one stack with today's schema."""

from __future__ import annotations

import csv
import io
import logging
import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from adapters.settings.queues import DEAD_LETTERS, QUEUES
from local.options import QUEUE_PREFIX, StackOptions
from local.ports import choose_free_port
from local.processes import children
from local.stack import Stack
from local.workers import ROOT
from tessera.api.rest import Api, RemoteJob, RemoteSlide
from tessera.api.transport import Transport
from tests.prerequisites import EMULATOR, NODE
from tests.slides import write_svs
from tests.stack.lab import Lab, eventually
from tests.upgrades.last_release import ReleasedFunctions, list_complaints, read_log, run_functions
from wsi.records.jobs import JobTerms, Priority
from wsi.states import JobState

pytestmark = [pytest.mark.stack, pytest.mark.exhaustive]

SHARD_TILES = 320  #: ten batches of 32
#: Tiles that are missing when a worker is told to leave: a busy machine computes some batches before it hears of it.
MISSING = 224
TILES = {"broad": 40 * 16, "narrow": 12 * 16}  #: two shards, and one
OPTIONS = StackOptions(
    workers=0,
    durable=False,
    shard_tiles=SHARD_TILES,
    schedule_seconds=2.0,
    worker={"lease_seconds": 6.0, "checkpoint_batches": 1, "checkpoint_seconds": 0.2, "decode_workers": 1},
)
#: summary.json holds times and the job's id.
SAME = ("tiles.csv", "tiles.geojson.gz", "heatmap.ome.tif", "tissue.png", "tile_quality.csv")


Shard = dict[str, Any]  #: a row


@dataclass
class Upgrade:
    """A stack of today, slides in it, and the results of today's worker alone for each."""

    lab: Lab
    worktree: Path
    slides: dict[str, RemoteSlide]
    jobs: list[tuple[str, RemoteJob]] = field(default_factory=list)
    workers: dict[bool, int] = field(default_factory=dict)  #: the running one, by whether it is of the last release

    @cached_property
    def alone(self) -> dict[str, dict[str, bytes]]:
        self.ensure_worker(of_last_release=False)
        jobs = {name: self.lab.wait(self.lab.submit(slide)) for name, slide in self.slides.items()}
        assert {job.status for job in jobs.values()} == {JobState.COMPLETED}
        return {name: self.lab.results(job) for name, job in jobs.items()}

    def ensure_worker(self, *, of_last_release: bool) -> int:
        """The number of the running worker of this release; if there is none, start one and wait until it answers."""
        if of_last_release not in self.workers:
            workers, port = self.lab.stack.workers, choose_free_port()
            number = workers.start(self.worktree if of_last_release else ROOT, health_port=port)
            self.workers[of_last_release] = number
            assert Path(f"/proc/{workers.pids[number]}/cwd").readlink() == (self.worktree if of_last_release else ROOT)
            eventually(lambda: self._answers(number, port), seconds=60, what="the worker's start")
        return self.workers[of_last_release]

    def _answers(self, number: int, port: int) -> bool:
        log = self.lab.stack.workers.get_log_path(number)
        assert children.is_alive(self.lab.stack.workers.pids[number]), f"The worker ended:\n{log.read_text()[-2000:]}"
        try:
            return httpx.get(f"http://127.0.0.1:{port}/v2/health/live").status_code == 200
        except httpx.TransportError:
            return False

    def drain_worker(self, *, of_last_release: bool) -> Shard:
        """Tell the worker to leave in the middle of a shard; return the shard as it was then."""
        number = self.workers[of_last_release]
        shard = self._stop_in_shard(number)
        os.kill(self.lab.stack.workers.pids[number], signal.SIGTERM)
        os.kill(self.lab.stack.workers.pids[number], signal.SIGCONT)
        assert self.lab.stack.workers.wait(self.workers.pop(of_last_release), seconds=90) == 0
        return shard

    def kill_worker(self, *, of_last_release: bool) -> Shard:
        """Kill the worker while it holds a lease; return the shard as it is then."""
        shard = self._stop_in_shard(self.workers[of_last_release])
        self.lab.stack.workers.kill(self.workers.pop(of_last_release))
        return shard

    def _stop_in_shard(self, number: int) -> Shard:
        """Stop the worker's process between a checkpoint of its own and the end of that shard. Jobs keep arriving until
        then, so that other workers leave it some."""
        pid = self.lab.stack.workers.pids[number]

        def stop() -> Shard | None:
            if self.count_left() < 2:
                self.submit("broad")
            if self._find_checkpoint(pid) is None:
                return None
            os.kill(pid, signal.SIGSTOP)
            found = self._find_checkpoint(pid)
            if found is None:
                os.kill(pid, signal.SIGCONT)
            return found

        return eventually(stop, seconds=90, what="a checkpoint of the worker")

    def _find_checkpoint(self, pid: int) -> Shard | None:
        query = "SELECT * FROM shards WHERE state = 'RUNNING' AND tiles_done BETWEEN 1 AND tiles - %s"
        rows = self.lab.sql(query, MISSING)
        own = (row for row in rows if f"-{pid}-" in row["lease_owner"])
        # Another one's checkpoint would show that release's work.
        return next((row for row in own if f"/{row['attempt']:03d}/" in row["checkpoint_key"]), None)

    def has_resumed(self, shard: Shard, *, of_last_release: bool) -> bool:
        """Return whether the running worker of this release continued the shard from where it was, or later."""
        log = read_log(self.lab.stack.workers.get_log_path(self.workers[of_last_release]))
        resumed = [line for line in log if line.get("message") == "resumed"]
        same = [line for line in resumed if (line["job"], line["shard"]) == (str(shard["job_id"]), shard["index"])]
        return any(line["tiles"] >= shard["tiles_done"] for line in same)

    def submit(self, *names: str, api_url: str | None = None, priority: Priority = Priority.NORMAL) -> None:
        """Submit a job for each of these slides, to today's API or to another."""
        with closing(Transport(api_url or self.lab.stack.api_url, self.lab.stack.api_key)) as transport:
            for name in names:
                job = Api(transport).submit_job(
                    self.slides[name].slide_id,
                    "stain-density",
                    idempotency_key=str(uuid4()),
                    terms=JobTerms(priority=priority),
                    force=True,
                )
                self.jobs.append((name, job))

    def count_left(self) -> int:
        """The shards that nobody has finished."""
        ids = [job.job_id for _, job in self.jobs]
        (row,) = self.lab.sql("SELECT count(*) FROM shards WHERE job_id = ANY(%s) AND state = 'DONE'", ids)
        return sum(count_shards(name) for name, _ in self.jobs) - row["count"]

    def check(self) -> None:
        """Wait for the end, and check that nothing was lost, doubled, misread or computed otherwise."""
        for name, job in self.jobs:
            done = self.lab.wait(job)
            assert done.status == JobState.COMPLETED
            assert (done.tiles_planned, done.tiles_inferred, done.tiles_unreadable) == (TILES[name], TILES[name], 0)
            commits = Counter(detail["shard"] for detail in self.lab.events(job, "shard_committed"))
            assert commits == dict.fromkeys(range(count_shards(name)), 1)
            assert self.lab.moves(job) == ["QUEUED", "PLANNING", "RUNNING", "STITCHING", "COMPLETED"]
            results = self.lab.results(done)
            rows = list(csv.DictReader(io.StringIO(results["tiles.csv"].decode())))
            assert len({(row["minx"], row["miny"]) for row in rows}) == len(rows) == TILES[name]
            assert [file for file in SAME if results[file] != self.alone[name][file]] == []
        eventually(lambda: self.count_unsent() == 0, seconds=30, what="an empty outbox")
        # A duplicate of the sweep may still be hidden from the worker that put it back.
        eventually(lambda: sum(self.count_messages("").values()) == 0, seconds=60, what="empty queues")
        assert self.count_messages(DEAD_LETTERS) == dict.fromkeys(QUEUES, 0)
        assert self.lab.sql("SELECT * FROM shards WHERE failures > 0") == []
        logs = self.lab.stack.workers.get_log_path(0).parent.glob("worker-*.log")
        assert {log.name: list_complaints(log) for log in logs if list_complaints(log)} == {}

    def count_unsent(self) -> int:
        (row,) = self.lab.sql("SELECT count(*) FROM outbox WHERE sent_at IS NULL")
        return row["count"]

    def count_messages(self, suffix: str) -> dict[str, int]:
        """The messages by queue, visible or not."""
        return {name: self._count(f"{QUEUE_PREFIX}{name}{suffix}") for name in QUEUES}

    def _count(self, queue: str) -> int:
        sqs = self.lab.stack.clients.sqs
        names: list[Any] = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return sum(int(attributes[name]) for name in names)


@pytest.fixture(scope="module")
def stack_upgrade(worktree: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgrade]:
    EMULATOR.require()
    NODE.require()
    stack = Stack(tmp_path_factory.mktemp("stack"), OPTIONS)
    stack.start()
    lab = Lab(stack)
    folder = tmp_path_factory.mktemp("slides")
    try:
        slides = {
            name: lab.upload(write_slide(folder / f"{name}.svs", columns=tiles // 16, seed=tiles))
            for name, tiles in TILES.items()
        }
        yield Upgrade(lab, worktree, slides)
    finally:
        lab.transport.close()
        stack.stop()
        stack.postgres.remove()


@pytest.fixture
def upgrade(stack_upgrade: Upgrade) -> Upgrade:
    assert stack_upgrade.alone.keys() == TILES.keys()
    stack_upgrade.jobs.clear()
    return stack_upgrade


@pytest.fixture(scope="module")
def functions(stack_upgrade: Upgrade, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReleasedFunctions]:
    """The functions of the last release, next to today's."""
    assert stack_upgrade.alone.keys() == TILES.keys(), "made without them"
    with run_functions(stack_upgrade.worktree, stack_upgrade.lab.stack, tmp_path_factory.mktemp("functions")) as ours:
        yield ours


@pytest.fixture
def complaints(functions: ReleasedFunctions, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No function may warn. Today's run in this process."""
    caplog.set_level(logging.INFO)
    yield
    assert list_complaints(functions.log) == []
    assert [one.getMessage() for one in caplog.get_records("call") if one.levelno >= logging.WARNING] == []


def count_shards(name: str) -> int:
    return -(-TILES[name] // SHARD_TILES)


def write_slide(path: Path, *, columns: int, seed: int) -> Path:
    width, height = columns * 256, 16 * 256
    return write_svs(path, width=width, height=height, levels=(1, 4), tissue=(0, 0, width, height), seed=seed)


@pytest.mark.usefixtures("complaints")
def test_functions_of_the_last_release_serve_todays_worker_on_todays_schema(
    upgrade: Upgrade, functions: ReleasedFunctions
) -> None:
    """As between the migration and the first function of today, and after a rollback."""
    upgrade.lab.stack.stop_functions()
    try:
        upgrade.ensure_worker(of_last_release=False)
        upgrade.submit("narrow", api_url=functions.api_url)
        upgrade.check()
    finally:
        upgrade.lab.stack.start_functions()
    assert {"plan", "stitch"} <= functions.list_services()


@pytest.mark.usefixtures("complaints")
def test_the_last_worker_drains_while_todays_goes_on_and_functions_of_both_share_the_queues(
    upgrade: Upgrade, functions: ReleasedFunctions, caplog: pytest.LogCaptureFixture
) -> None:
    upgrade.ensure_worker(of_last_release=True)
    upgrade.ensure_worker(of_last_release=False)
    handled = functions.count_messages()
    upgrade.submit("broad", api_url=functions.api_url, priority=Priority.LOW)
    upgrade.submit("narrow", priority=Priority.HIGH)
    left = upgrade.drain_worker(of_last_release=True)
    upgrade.check()
    assert upgrade.has_resumed(left, of_last_release=False)

    def have_both_handled() -> bool:
        done = [record for record in caplog.records if record.getMessage() == "done"]
        return functions.count_messages() > handled and bool(done)

    for _ in range(20):  # who gets a message is chance: a job has two of them
        if have_both_handled():
            break
        upgrade.submit("narrow")
        upgrade.check()
    assert have_both_handled()


@pytest.mark.usefixtures("complaints")
def test_todays_worker_drains_while_the_last_one_goes_on(upgrade: Upgrade) -> None:
    upgrade.ensure_worker(of_last_release=True)
    upgrade.ensure_worker(of_last_release=False)
    upgrade.submit("broad", "narrow")
    left = upgrade.drain_worker(of_last_release=False)
    upgrade.check()
    assert upgrade.has_resumed(left, of_last_release=True)


@pytest.mark.usefixtures("complaints")
def test_todays_worker_continues_the_checkpoint_of_a_killed_one_of_the_last_release(upgrade: Upgrade) -> None:
    upgrade.ensure_worker(of_last_release=True)
    if False in upgrade.workers:
        upgrade.lab.stack.workers.stop(upgrade.workers.pop(False))
    upgrade.submit("broad")
    left = upgrade.kill_worker(of_last_release=True)
    upgrade.ensure_worker(of_last_release=False)
    upgrade.check()
    assert upgrade.has_resumed(left, of_last_release=False)
