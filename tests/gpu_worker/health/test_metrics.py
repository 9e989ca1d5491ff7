"""GET /metrics: what a worker that ran a job has counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adapters.settings import worker_metrics as names
from gpu_worker.drain import Drain
from gpu_worker.health.metrics import Model, ShardMetrics
from gpu_worker.health.pulse import Pulse
from gpu_worker.health.server import State
from gpu_worker.leases.settlement import ShardOutcome
from inference.shard_stats import ShardStats
from tests.gpu_worker.installation import Drops, Installation
from wsi.errors import SourceUnavailable, UnsuitableDevice


class Told(Protocol):
    def format_metrics(self) -> bytes: ...


@pytest.fixture
def installation(tmp_path) -> Installation:
    return Installation(tmp_path)


def samples(told: Told) -> dict[tuple[str, ...], float]:
    """(name, model, version, values of other labels by their names …) -> value."""
    families = text_string_to_metric_families(told.format_metrics().decode())
    found = [one for family in families for one in family.samples]
    return {(one.name, *(one.labels[name] for name in labels_of(one))): one.value for one in found}


def labels_of(sample: Any) -> list[str]:
    first = [name for name in names.OF_A_MODEL if name in sample.labels]
    return first + sorted(sample.labels.keys() - first)


def total(told: dict[tuple[str, ...], float], name: str, *labels: str) -> float:
    """Over models."""
    return sum(value for key, value in told.items() if key[0] == name and key[len(key) - len(labels) :] == labels)


#: Of what only some models, devices or processes tell, or only once something happened.
LATER = {names.PLANS, f"{names.PLAN_SECONDS}_sum", f"{names.PLAN_SECONDS}_count"}
MODEL = Model("lung", "1.2")


@pytest.fixture
def told() -> ShardMetrics:
    return ShardMetrics(lambda: 0)


def test_counters_stand_at_zero_before_anything_happened(installation):
    told = samples(installation.worker())
    assert told.pop((names.STATE, "waiting")) == 1
    assert told.pop((names.SILENT_SECONDS,)) >= 0
    assert set(told.values()) == {0}
    assert {key[0] for key in told} >= {names.IDLE_SECONDS, names.FAILED_POLLS, names.S3_GETS, names.LEASES_HELD}


def test_every_name_is_told_by_somebody_and_nothing_else_is(told):
    told.watch(state=lambda: State.WAITING, pulse=Pulse(60))
    told.record(work(), MODEL)
    told.count_shard(ShardOutcome.STUCK, MODEL, code="stuck")
    told.set_cold_start("weights", 1.5, MODEL)
    told.count_energy(lambda: 12.5)
    told.count_lost_spans(lambda: 2)
    assert {key[0] for key in samples(told)} == names.list_series() - LATER


def work(**more: Any) -> ShardStats:
    given: dict[str, Any] = {
        "inferred": 90,
        "unreadable": 4,
        "batches": 3,
        "padded": 6,
        "seconds": 2.0,
        "stage_seconds": {"fetch": 0.5, "decode": 7.0, "forward": 1.9},
        "waits": {("forward", "in"): 0.1, ("decode", "out"): 0.4},
        "first_tile_seconds": 0.8,
    }
    return ShardStats(**{**given, **more})


def test_what_the_engine_did_for_a_shard_is_told_of_its_model(told):
    told.record(work(), MODEL)
    told.record(work(inferred=32, batches=1, padded=0, seconds=1.0, stage_seconds={"forward": 0.5}), MODEL)
    found = samples(told)
    assert found[names.TILES, *MODEL, "inferred"] == 122
    assert found[names.TILES, *MODEL, "unreadable"] == 8
    assert found[names.BATCHES, *MODEL] == 4
    assert found[names.TILES_PADDED, *MODEL] == 6
    assert found[names.RUN_SECONDS, *MODEL] == 3
    assert found[f"{names.STAGE_SECONDS}_sum", *MODEL, "forward"] == 2.4
    assert found[f"{names.STAGE_SECONDS}_count", *MODEL, "decode"] == 1
    assert found[f"{names.STAGE_WAIT_SECONDS}_sum", *MODEL, "in", "forward"] == 0.2
    assert found[f"{names.STAGE_WAIT_SECONDS}_sum", *MODEL, "out", "decode"] == 0.8
    assert found[f"{names.TIME_TO_FIRST_TILE_SECONDS}_count", *MODEL] == 2
    assert found[names.GPU_BUSY_RATIO, *MODEL] == 0.5
    assert found[names.BATCH_FILL_RATIO, *MODEL] == 1.0


def test_a_shard_without_a_readable_tile_tells_no_ratio(told):
    told.record(work(inferred=0, batches=0, padded=0, seconds=0.0, stage_seconds={}, first_tile_seconds=None), MODEL)
    found = {key[0] for key in samples(told)}
    assert names.TILES in found
    assert not found & {names.BATCH_FILL_RATIO, names.GPU_BUSY_RATIO}


def test_failures_carry_their_reason_and_ends_without_one_are_none(told):
    told.count_shard(ShardOutcome.COMMITTED, MODEL)
    told.count_shard(ShardOutcome.UNSUITABLE, MODEL, code=UnsuitableDevice.code)
    found = samples(told)
    assert found[names.SHARDS, *MODEL, "committed"] == found[names.SHARDS, *MODEL, "unsuitable"] == 1
    assert {key: value for key, value in found.items() if key[0] == names.SHARDS_FAILED} == {
        (names.SHARDS_FAILED, *MODEL, "unsuitable_gpu"): 1
    }


def test_a_process_that_meets_many_models_tells_of_a_bounded_number(told):
    for number in range(10 * names.MODELS):
        told.record(work(), Model("m", str(number)))
    found = {key[1:3]: value for key, value in samples(told).items() if key[0] == names.BATCHES}
    assert len(found) == names.MODELS + 1
    assert found["other", "other"] == 9 * names.MODELS * 3
    told.record(work(), Model("m", "0"))
    assert samples(told)[names.BATCHES, "m", "0"] == 6


def test_a_phase_that_nobody_draws_is_an_error(told):
    with pytest.raises(ValueError, match="no phase"):
        told.set_cold_start("coffee", 1.0, MODEL)


def test_a_job_is_counted_tile_by_tile(installation):
    _, plan = installation.planned_job(shard_tiles=20)
    worker = installation.worker()
    worker.run()
    told = samples(worker)
    assert total(told, names.SHARDS, "committed") == len(plan.shard_sizes)
    assert total(told, names.SHARDS_FAILED) == 0
    assert total(told, names.TILES, "inferred") == len(plan.tiles)
    assert total(told, names.TILES, "unreadable") == 0
    batch = plan.numerics.batch
    # A tail may be filled from the next shard.
    assert (
        -len(plan.tiles) % batch <= total(told, names.TILES_PADDED) <= sum(-size % batch for size in plan.shard_sizes)
    )
    for stage in names.STAGES:
        assert total(told, f"{names.STAGE_SECONDS}_sum", stage) > 0, stage
    for stage, side in names.WAITS:
        assert total(told, f"{names.STAGE_WAIT_SECONDS}_count", side, stage) == len(plan.shard_sizes)
    forward = total(told, f"{names.STAGE_SECONDS}_sum", "forward")
    assert 0 < forward < total(told, names.RUN_SECONDS) <= total(told, f"{names.SHARD_SECONDS}_sum")
    assert total(told, f"{names.STAGE_WAIT_SECONDS}_sum", "in", "forward") > 0
    assert total(told, names.COLD_START_SECONDS, "warm_up") > 0
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
    assert total(told, names.SHARDS, "drained") == 1
    assert total(told, names.SHARDS, "failed") == 0
    assert told[names.STATE, "leaving"] == 1
    installation.relay()
    second = installation.worker()
    second.run()
    assert total(told, names.TILES, "inferred") + total(samples(second), names.TILES, "inferred") == len(plan.tiles)


def test_nothing_in_the_metrics_names_a_job_a_slide_or_a_tenant(installation):
    job, _ = installation.planned_job()
    worker = installation.worker()
    worker.run()
    text = worker.format_metrics().decode()
    for secret in (str(job.id), str(installation.tenant), str(installation.slide_id), "slide.svs"):
        assert secret not in text


def test_polls_that_fail_are_counted(installation, monkeypatch):
    receive, failures = installation.queues.receive, iter([SourceUnavailable("Away.")] * 2)

    def first_fail(*args, **more):
        for failure in failures:
            raise failure
        return receive(*args, **more)

    installation.queues.receive = first_fail
    worker = installation.worker(idle_seconds=0.5)
    worker.run()
    assert samples(worker)[(names.FAILED_POLLS,)] == 2


def test_a_worker_whose_work_hangs_is_not_alive_though_its_lease_is_extended(installation):
    installation.planned_job()
    hanging, freed = threading.Event(), threading.Event()

    def hang(_: str) -> None:
        hanging.set()
        freed.wait(30)

    installation.objects = Drops(installation.objects.held, hang)
    worker = installation.worker(stuck_seconds=0.3)
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
