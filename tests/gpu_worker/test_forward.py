"""What the forward stage does with a batch, seen through the engine."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from gpu_worker.decoding.jobs import MeasureRows
from gpu_worker.decoding.memory import private
from gpu_worker.decoding.threads import ThreadDecoders
from gpu_worker.engine import Engine
from gpu_worker.models.loaded import Queueing
from gpu_worker.models.stain_density import StainDensity
from gpu_worker.models.tile_quality import QualitySums
from gpu_worker.pipeline import ShardRun
from gpu_worker.stages.batch import RESERVED
from gpu_worker.stages.values import Ended, Outputs
from gpu_worker.work import Work
from tests.gpu_worker.cases import DamagedReader, boxes, open_path, run_all, small_slide, whole_plan
from wsi.quality import finished, lattice, measure
from wsi.shard_result import ShardResult


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    opened = open_path(small_slide(tmp_path_factory.mktemp("slide")))
    yield opened
    opened.close()


class Flying:
    """A batch whose pixels are looked at when it is asked for, as a device does that is slow."""

    def __init__(self, model: StainDensity, pixels: NDArray[np.uint8], numerics: Any) -> None:
        self._model, self._pixels, self._numerics = model, pixels, numerics
        self.seconds = 0.25

    def scores(self) -> NDArray[np.float32]:
        height, width = self._pixels.shape[1:3]
        sums = QualitySums(height, width, torch.device("cpu"))(torch.from_numpy(self._pixels))
        self._quality = finished(sums.numpy(), lattice(height, width))
        return self._model.infer(self._pixels, self._numerics)

    def quality(self) -> NDArray[np.float32]:
        return self._quality


class QueueingModel(StainDensity):
    """Stain density that queues its batches."""

    def start(self, pixels: NDArray[np.uint8], numerics: Any) -> Flying:
        return Flying(StainDensity(self.card), pixels, numerics)


class CountingDecoders(ThreadDecoders):
    measured = 0  #: jobs

    def submit(self, job):
        self.measured += isinstance(job, MeasureRows)
        return super().submit(job)


class KeepingModel(StainDensity):
    """Keeps what it gave."""

    def __init__(self, card) -> None:
        super().__init__(card)
        self.gave: list[NDArray[np.float32]] = []

    def infer(self, pixels, numerics):
        self.gave.append(super().infer(pixels, numerics))
        return self.gave[-1]


def computed(reader, plan, model, stop=None) -> tuple[list[ShardResult], list[Outputs], int]:
    """Results of all shards, what came out of the stage, and the jobs that measured."""
    outputs: list[Outputs] = []
    results: list[ShardResult] = []
    with closing(CountingDecoders(2, private(RESERVED))) as decoders, Engine(decoders, 16 * 1024**2) as engine:
        runs: dict[Work, ShardRun] = {}
        for index in range(len(plan.shard_sizes)):
            work = Work.of(plan, index, reader, model, stop=stop or threading.Event())
            runs[work] = ShardRun(work, None)
            engine.begin(work)
        while runs:
            event = engine.next(30)
            assert event is not None, "nothing came out"
            if isinstance(event, Outputs):
                outputs.append(event)
                runs[event.work].add(event)
            elif isinstance(event, Ended):
                results.append(runs.pop(event.work).end(event))
        return results, outputs, decoders.measured


@pytest.mark.parametrize("broken", [(), (10, 11, 40)], ids=["sound", "broken"])
@pytest.mark.parametrize("batch", [1, 8, 48])
def test_a_device_gives_the_bytes_of_a_model_that_answers_at_once(reader, batch, broken):
    plan = whole_plan(reader, batch=batch, shard_tiles=20)
    damaged = DamagedReader(reader, broken)
    assert isinstance(QueueingModel(plan.card), Queueing)
    results, _, jobs = computed(damaged, plan, QueueingModel(plan.card))
    expected, _, others = computed(damaged, plan, StainDensity(plan.card))
    assert [result.to_bytes() for result in results] == [result.to_bytes() for result in expected]
    assert bool(broken) == any(result.unreadable for result in results)
    assert jobs == 0, "a device measures by itself"
    assert others > 0


def test_how_tiles_look_is_what_measuring_each_by_itself_gives(reader):
    plan = whole_plan(reader, batch=8, shard_tiles=20)
    quality = run_all(plan, reader, model=QueueingModel(plan.card)).quality
    assert quality is not None
    assert quality.tobytes() == measure(boxes(plan, reader)).tobytes()


def test_scores_of_a_full_batch_are_not_copied(reader):
    plan = whole_plan(reader, batch=8, shard_tiles=None)
    model = KeepingModel(plan.card)
    _, outputs, _ = computed(reader, plan, model)
    assert len(outputs) == len(model.gave) == len(plan.tiles) / 8
    for output, gave in zip(outputs, model.gave, strict=True):
        assert output.scores is gave


def test_a_batch_of_two_shards_is_dealt_out_to_both(reader, monkeypatch):
    monkeypatch.setattr("gpu_worker.engine.PATIENCE", 30.0)  # a machine under load is slow with the next tiles
    plan = whole_plan(reader, batch=8, shard_tiles=14)
    _, outputs, _ = computed(reader, plan, QueueingModel(plan.card))
    assert sorted(output.count for output in outputs) == sorted([8, 6, 2, 8, 4, 4, 8, 2, 6, 8])
    expected = measure(boxes(plan, reader))
    for output in outputs:
        assert output.quality.tobytes() == expected[output.tiles].tobytes()
        assert output.seconds == pytest.approx(0.25 * output.count / 8)


def test_what_a_model_says_of_padding_does_not_matter(reader):
    class AgainstBlack(StainDensity):
        def infer(self, pixels, numerics):
            scores = super().infer(pixels, numerics)
            scores[~pixels.any(axis=(1, 2, 3))] = np.nan
            return scores

    plan = whole_plan(reader, batch=48, shard_tiles=None)
    results, outputs, _ = computed(reader, plan, AgainstBlack(plan.card))
    assert sum(output.padded for output in outputs) == -len(plan.tiles) % 48 > 0
    assert np.isfinite(results[0].scores).all()
