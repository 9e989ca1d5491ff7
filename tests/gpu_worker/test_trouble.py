"""A worker whose device or whose reads fail it: what becomes of the shard, of the worker, and what is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from gpu_worker.health.watchdog import EXIT_CODE
from gpu_worker.packages import ModelCache
from gpu_worker.worker import Worker
from inference.decoding.decode_tasks import ScatterTiles
from inference.models.stains.density import StainDensity
from tests.gpu_worker.installation import SHORT, Installation, version_of
from wsi.errors import DeviceLost, UnsuitableDevice
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.jobs import Job, Priority
from wsi.states import JobState, ShardState

STAGES_HANG = replace(SHORT, stages=0.1)  # a thread that hangs is not waited for


@pytest.fixture
def installation(tmp_path) -> Installation:
    return Installation(tmp_path)


class FailsOnDevice(StainDensity):
    """Raises from the batch on that is counted by `good`."""

    def __init__(self, error: Exception, *, good: int = 0) -> None:
        super().__init__(STAIN_DENSITY)
        self._error, self._good = error, good

    def infer(self, pixels: Any, numerics: Any) -> Any:
        self._good -= 1
        if self._good < 0:
            raise self._error
        return super().infer(pixels, numerics)


def on_device(monkeypatch: pytest.MonkeyPatch, *models: Any) -> None:
    """The workers' devices, in the order in which they load the model; of each a model that runs there."""
    coming = iter(models)
    monkeypatch.setattr(
        "gpu_worker.worker.ModelCache", lambda **given: ModelCache(**{**given, "load": lambda *_: next(coming)})
    )


def shards_of(installation: Installation, job: Job) -> list[Any]:
    return installation.ledger.books.shards[job.id]


def reasons(installation: Installation, job: Job, kind: str) -> list[str]:
    return [event.detail["reason"] for event in installation.events(job.id, kind)]


def told(worker: Worker, line: str) -> bool:
    return any(line in one for one in worker.format_metrics().decode().splitlines())


def test_a_gpu_that_is_too_small_takes_no_shard_of_the_model_again_and_a_larger_one_finishes(installation, monkeypatch):
    job, plan = installation.planned_job(shard_tiles=20)
    on_device(monkeypatch, FailsOnDevice(UnsuitableDevice("The batch needs 30 GB.")), StainDensity(STAIN_DENSITY))
    small = installation.worker(idle_seconds=0.3, lease_seconds=3)  # what it refuses comes back after a second
    assert small.run() == 0
    leased = len(installation.events(job.id, "shard_leased"))
    assert leased <= 2, "the first, and the one that was taken ahead of its answer"
    assert set(reasons(installation, job, "shard_released")) == {"unsuitable_gpu"}
    assert [(shard.state, shard.failures) for shard in shards_of(installation, job)] == [
        (ShardState.QUEUED, 0) for _ in plan.shard_sizes
    ]
    assert told(small, 'reason="unsuitable_gpu"')
    assert not told(small, 'reason="internal"')
    installation.relay()
    assert installation.worker(idle_seconds=1.3).run() == 0
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)


def test_a_gpu_that_is_too_small_for_one_model_goes_on_with_others(installation, monkeypatch):
    refused, _ = installation.planned_job(shard_tiles=None, priority=Priority.HIGH)
    card = replace(STAIN_DENSITY, version="2", digest="f" * 64)
    installation.ledger.register_model(version_of(card))
    other, plan = installation.planned_job(shard_tiles=None, card=card)
    on_device(monkeypatch, FailsOnDevice(UnsuitableDevice("Too large.")), StainDensity(card))
    assert installation.worker(idle_seconds=0.3).run() == 0
    assert installation.job(refused.id).state is JobState.RUNNING
    assert installation.job(other.id).tiles_inferred == len(plan.tiles)


def test_a_worker_whose_gpu_is_lost_gives_back_and_exits_non_zero_and_the_next_one_goes_on(installation, monkeypatch):
    job, plan = installation.planned_job(shard_tiles=20)
    lost = FailsOnDevice(DeviceLost("An ECC error cannot be corrected."), good=3)
    on_device(monkeypatch, lost, StainDensity(STAIN_DENSITY))
    worker = installation.worker(checkpoint_batches=1)
    assert worker.run() == EXIT_CODE
    assert not worker.is_alive
    assert "RUNNING" not in {shard.state.value for shard in shards_of(installation, job)}
    assert installation.events(job.id, "shard_failed") == []
    assert told(worker, 'outcome="device"')
    installation.relay()
    assert installation.worker().run() == 0
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)


class Hangs:
    """A slide store whose reads of tiles hang until they are freed."""

    def __init__(self, slides: Any) -> None:
        self._slides = slides
        self.freed = threading.Event()

    def open(self, uri: str, *, tenant: UUID | None = None, etag: str | None = None) -> Any:
        source, freed = self._slides.open(uri, tenant=tenant, etag=etag), self.freed

        class Source:
            size, etag = source.size, source.etag
            read = staticmethod(source.read)

            def read_many(self, ranges: Any) -> Iterator[bytes]:
                freed.wait(60)
                yield from source.read_many(ranges)

        return Source()


def test_a_read_that_hangs_fails_the_attempt_with_its_reason_and_ends_the_worker(installation, monkeypatch):
    job, plan = installation.planned_job(shard_tiles=None)
    slides = installation.slides
    installation.slides = hanging = Hangs(slides)
    worker = installation.worker(waits=STAGES_HANG, stuck_seconds=0.5)
    try:
        assert worker.run() == EXIT_CODE
    finally:
        hanging.freed.set()
    (shard,) = shards_of(installation, job)
    assert (shard.state, shard.failures) == (ShardState.QUEUED, 1)
    assert "the fetch stage hangs" in reasons(installation, job, "shard_failed")[0]
    assert told(worker, 'reason="stuck"')
    installation.slides = slides
    installation.relay()
    assert installation.worker().run() == 0
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)


def test_a_forward_pass_that_hangs_is_named(installation, monkeypatch):
    job, _ = installation.planned_job(shard_tiles=None)
    freed = threading.Event()

    class HangsOnDevice(StainDensity):
        def infer(self, pixels: Any, numerics: Any) -> Any:
            freed.wait(60)
            return super().infer(pixels, numerics)

    on_device(monkeypatch, HangsOnDevice(STAIN_DENSITY))
    try:
        assert installation.worker(waits=STAGES_HANG, stuck_seconds=0.5).run() == EXIT_CODE
    finally:
        freed.set()
    assert "the forward stage hangs" in reasons(installation, job, "shard_failed")[0]


def test_a_decoder_that_hangs_is_named(installation, monkeypatch):
    job, _ = installation.planned_job(shard_tiles=None)
    freed, decode = threading.Event(), ScatterTiles.run

    def hang(self: ScatterTiles, memory: Any) -> Any:
        freed.wait(5)  # closing the decoders waits for it
        return decode(self, memory)

    monkeypatch.setattr(ScatterTiles, "run", hang)
    worker = installation.worker(waits=STAGES_HANG, stuck_seconds=0.5)
    threading.Timer(2.0, freed.set).start()
    assert worker.run() == EXIT_CODE
    assert "the decode stage hangs" in reasons(installation, job, "shard_failed")[0]


def test_a_shard_that_hangs_each_worker_is_poison(installation, monkeypatch):
    job, _ = installation.planned_job(shard_tiles=None)
    installation.slides = hanging = Hangs(installation.slides)
    try:
        for _ in range(3):
            assert installation.worker(waits=STAGES_HANG, stuck_seconds=0.3).run() == EXIT_CODE
            installation.relay()
    finally:
        hanging.freed.set()
    failed = installation.job(job.id)
    assert (failed.state, failed.reason) == (JobState.FAILED, "poison_shard")
