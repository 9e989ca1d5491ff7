"""GET /metrics: what a worker that ran a job has counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adapters.settings import worker_metrics as names
from gpu_worker.drain import Drain
from gpu_worker.pulse import Pulse
from gpu_worker.worker import Worker
from tests.gpu_worker.installation import Drops, Installation
from wsi.errors import SourceUnavailable


@pytest.fixture
def installation(tmp_path) -> Installation:
    return Installation(tmp_path)


def samples(worker: Worker) -> dict[tuple[str, ...], float]:
    """(name, values of the labels …) -> value."""
    families = text_string_to_metric_families(worker.exposition().decode())
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def test_counters_stand_at_zero_before_anything_happened(installation):
    told = samples(installation.worker())
    assert told.pop((names.STATE, "waiting")) == 1
    assert told.pop((names.SILENT_SECONDS,)) >= 0
    assert set(told.values()) == {0}
    every = {value for name, value in vars(names).items() if name.isupper() and name != "PREFIX"}
    assert {key[0] for key in told} | {names.STATE, names.SILENT_SECONDS} == every - {names.PLANS, names.PLAN_SECONDS}


def test_a_job_is_counted_tile_by_tile(installation):
    _, plan = installation.planned_job(shard_tiles=20)
    worker = installation.worker()
    worker.run()
    told = samples(worker)
    assert told[names.SHARDS, "committed"] == len(plan.shard_sizes)
    assert told[names.TILES, "inferred"] == len(plan.tiles)
    assert told[names.TILES, "unreadable"] == 0
    batch = plan.numerics.batch
    assert told[(names.PADDED_TILES,)] == sum(-size % batch for size in plan.shard_sizes)
    assert 0 < told[(names.FORWARD_SECONDS,)] < told[(names.RUN_SECONDS,)] <= told[(names.SHARD_SECONDS,)]
    assert told[names.STAGE_WAIT_SECONDS, "batch"] > 0
    assert told[(names.IDLE_SECONDS,)] > 0
    assert told[(names.LEASES_HELD,)] == 0


def test_a_drained_shard_is_no_failure_and_its_tiles_count_once(installation):
    _, plan = installation.planned_job(shard_tiles=None)
    drain = Drain()
    installation.objects = Drops(
        installation.objects.held, lambda key: drain.request() if "checkpoint" in key else None
    )
    leaving = installation.worker(drain, checkpoint_batches=1)
    leaving.run()
    told = samples(leaving)
    assert told[names.SHARDS, "drained"] == 1
    assert told[names.SHARDS, "failed"] == 0
    assert told[names.STATE, "leaving"] == 1
    installation.relay()
    second = installation.worker()
    second.run()
    assert told[names.TILES, "inferred"] + samples(second)[names.TILES, "inferred"] == len(plan.tiles)


def test_nothing_in_the_metrics_names_a_job_a_slide_or_a_tenant(installation):
    job, _ = installation.planned_job()
    worker = installation.worker()
    worker.run()
    text = worker.exposition().decode()
    for secret in (str(job.id), str(installation.tenant), str(installation.slide_id), "slide.svs", job.model):
        assert secret not in text


def test_polls_that_fail_are_counted(installation, monkeypatch):
    monkeypatch.setattr("gpu_worker.worker.RETRY_SECONDS", 0.01)
    receive, failures = installation.queues.receive, iter([SourceUnavailable("Away.")] * 2)

    def first_fail(*args, **more):
        for failure in failures:
            raise failure
        return receive(*args, **more)

    installation.queues.receive = first_fail
    worker = installation.worker(idle_seconds=0.5)
    worker.run()
    assert samples(worker)[(names.FAILED_POLLS,)] == 2


def test_silence_for_too_long_is_stuck():
    now = 100.0
    pulse = Pulse(60, clock=lambda: now)
    now += 60
    assert not pulse.is_stuck
    now += 1
    assert pulse.is_stuck
    assert pulse.silent_seconds == 61
    pulse.beat()
    assert not pulse.is_stuck


def test_a_worker_whose_work_hangs_is_not_alive_though_its_lease_is_extended(installation, monkeypatch):
    monkeypatch.setattr("gpu_worker.worker.STUCK_SECONDS", 0.3)
    installation.planned_job()
    hanging, freed = threading.Event(), threading.Event()

    def hang(_: str) -> None:
        hanging.set()
        freed.wait(30)

    installation.objects = Drops(installation.objects.held, hang)
    worker = installation.worker()
    running = threading.Thread(target=worker.run, daemon=True)
    running.start()
    assert hanging.wait(10)
    wait_until(lambda: not worker.is_alive)
    freed.set()
    running.join(10)
    assert not running.is_alive()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_worker_that_extends_no_lease_any_more_is_not_alive(installation, monkeypatch):
    def die(*_: object, **__: object) -> bool:
        raise SystemExit  # which no handler of Exception sees: it ends the thread

    monkeypatch.setattr(installation.ledger, "extend_lease", die)
    installation.planned_job()
    freed = threading.Event()
    installation.objects = Drops(installation.objects.held, lambda _: freed.wait(30))
    worker = installation.worker(lease_seconds=0.3)
    assert worker.is_alive
    running = threading.Thread(target=worker.run, daemon=True)
    running.start()
    wait_until(lambda: not worker.is_alive)
    freed.set()
    running.join(10)
    assert not running.is_alive()


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)
