"""What the forward stage does with a batch, seen through the engine."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from inference.decoding.decode_tasks import MeasureRows
from inference.decoding.memory import allocate_private
from inference.decoding.threads import ThreadDecoders
from inference.engine import Engine
from inference.models.loaded import Queueing
from inference.models.stains.density import StainDensity
from inference.models.tile_quality import QualitySums
from inference.shard_run import ShardRun
from inference.shard_task import ShardTask
from inference.stages.batch import RESERVED
from inference.stages.values import Ended, Outputs
from tests.inference.cases import DamagedReader, boxes, open_path, run_all, small_slide, whole_plan
from wsi.results.shard_result import ShardResult
from wsi.results.tile_quality import compute_columns, make_lattice, measure


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

    def wait_for_scores(self) -> NDArray[np.float32]:
        height, width = self._pixels.shape[1:3]
        sums = QualitySums(height, width, torch.device("cpu"))(torch.from_numpy(self._pixels))
        self._quality = compute_columns(sums.numpy(), make_lattice(height, width))
        return self._model.infer(self._pixels, self._numerics)

    def get_quality(self) -> NDArray[np.float32]:
        return self._quality


class QueueingModel(StainDensity):
    """Stain density that queues its batches."""

    depth = 2

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


def computed(reader, plan, model, stop=None, **waits) -> tuple[list[ShardResult], list[Outputs], int]:
    """Results of all shards, what came out of the stage, and the jobs that measured."""
    outputs: list[Outputs] = []
    results: list[ShardResult] = []
    decoders = CountingDecoders(2, allocate_private(RESERVED))
    with closing(decoders), Engine(decoders, 16 * 1024**2, **waits) as engine:
        runs: dict[ShardTask, ShardRun] = {}
        for index in range(len(plan.shard_sizes)):
            work = ShardTask.from_plan(plan, index, reader, model, stop=stop or threading.Event())
            runs[work] = ShardRun(work, None)
            engine.begin(work)
        while runs:
            event = engine.wait_for_event(30)
            assert event is not None, "nothing came out"
            if isinstance(event, Outputs):
                outputs.append(event)
                runs[event.task].add(event)
            elif isinstance(event, Ended):
                results.append(runs.pop(event.task).end(event))
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


def test_a_batch_of_two_shards_is_dealt_out_to_both(reader):
    plan = whole_plan(reader, batch=8, shard_tiles=14)
    # a machine under load is slow with the tiles that fill a batch
    _, outputs, _ = computed(reader, plan, QueueingModel(plan.card), full_batch_seconds=30.0)
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
