"""Works of several shards, slides and models in one engine."""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager
from dataclasses import replace

import numpy as np
import pytest

from inference.decoding.memory import allocate_private
from inference.decoding.processes import ProcessDecoders
from inference.decoding.threads import ThreadDecoders
from inference.engine import Engine
from inference.models.stains.density import StainDensity
from inference.pipeline import run_shard
from inference.shard_run import ShardRun
from inference.shard_task import ShardTask
from inference.stages.batch import RESERVED
from inference.stages.values import Ended, Outputs
from tests.inference.cases import CountingModel, DamagedReader, open_path, small_slide, whole_plan
from tests.inference.test_pipeline import FailingReader
from wsi.errors import ModelError, SourceChanged
from wsi.results.shard_result import ShardResult


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    opened = open_path(small_slide(tmp_path_factory.mktemp("slide")))
    yield opened
    opened.close()


#: Seconds for the tiles that fill a batch: a machine under load is slow with them.
PATIENT = 30.0


@contextmanager
def engine_of(decoders=None, budget=16 * 1024**2, **waits):
    with (
        closing(decoders or ThreadDecoders(2, allocate_private(RESERVED))) as used,
        Engine(used, budget, **waits) as engine,
    ):
        yield engine


def work_of(plan, index, reader, model, stop=None):
    return ShardTask.from_plan(plan, index, reader, model, stop=stop or threading.Event())


def outcomes(engine, works) -> dict[int, ShardResult | Exception]:
    """What became of each work, by its place among `works`."""
    runs = {work: ShardRun(work, None) for work in works}
    found: dict[int, ShardResult | Exception] = {}
    while len(found) < len(works):
        event = engine.wait_for_event(30)
        assert event is not None, "nothing came out"
        if isinstance(event, Outputs):
            runs[event.task].add(event)
            continue
        try:
            found[works.index(event.task)] = runs[event.task].end(event)
        except Exception as error:  # noqa: BLE001  # what the test looks at
            found[works.index(event.task)] = error
    return found


def test_the_tail_of_a_shard_is_filled_from_the_next(reader):
    plan = whole_plan(reader, batch=8, shard_tiles=14)
    assert all(size % 8 for size in plan.shard_sizes)
    model = CountingModel(plan.card)
    works = [work_of(plan, index, reader, model) for index in range(len(plan.shard_sizes))]
    with engine_of(full_batch_seconds=PATIENT) as engine:
        for work in works:
            engine.begin(work)
        found = outcomes(engine, works)
        assert engine.forward.padded == -len(plan.tiles) % 8
    assert model.batches == -(-len(plan.tiles) // 8)
    for index, result in found.items():
        alone = run_shard(plan, index, reader, StainDensity(plan.card), stop=threading.Event())
        assert result.to_bytes() == alone.to_bytes()


def test_a_batch_does_not_wait_long_for_tiles_that_do_not_come(reader):
    plan = whole_plan(reader, batch=64, shard_tiles=20)
    model = StainDensity(plan.card)
    with engine_of() as engine:
        work = work_of(plan, 0, reader, model)
        engine.begin(work)
        assert isinstance(outcomes(engine, [work])[0], ShardResult)


@pytest.mark.parametrize("stage", ["fetch", "decode"])
def test_a_slide_that_fails_ends_its_own_work_only(reader, stage):
    plan = whole_plan(reader, batch=8, shard_tiles=20)
    model = StainDensity(plan.card)
    works = [work_of(plan, 0, reader, model), work_of(plan, 1, FailingReader(reader, stage), model)]
    works.append(work_of(plan, 2, reader, model))
    with engine_of() as engine:
        for work in works:
            engine.begin(work)
        found = outcomes(engine, works)
    assert isinstance(found[1], SourceChanged)
    for index in (0, 2):
        alone = run_shard(plan, index, reader, model, stop=threading.Event())
        assert found[index].to_bytes() == alone.to_bytes()


def test_a_model_that_fails_ends_the_works_of_its_batches_and_the_next_model_runs(reader):
    plan = whole_plan(reader, batch=8, shard_tiles=20)

    class NotANumber(StainDensity):
        def infer(self, pixels, numerics):
            return np.full((len(pixels), 4), np.nan, np.float32)

    works = [work_of(plan, 0, reader, NotANumber(plan.card)), work_of(plan, 0, reader, StainDensity(plan.card))]
    with engine_of() as engine:
        for work in works:
            engine.begin(work)
        found = outcomes(engine, works)
    assert isinstance(found[0], ModelError)
    assert found[1].done == plan.shard_sizes[0]


def test_one_work_can_be_stopped_and_the_others_go_on(reader):
    plan = whole_plan(reader, batch=4, shard_tiles=20)
    stop = threading.Event()
    model = CountingModel(plan.card, after=lambda number: stop.set())
    works = [work_of(plan, 0, reader, model, stop), work_of(plan, 1, reader, model)]
    with engine_of() as engine:
        for work in works:
            engine.begin(work)
        found = outcomes(engine, works)
    assert type(found[0]).__name__ == "Drained"
    assert found[1].done == plan.shard_sizes[1]
    assert model.batches <= 1 + 6  # of ten; the sixth shares its batch with rows of the first work


def test_shapes_follow_each_other_through_the_same_memory(reader):
    """Another model size on the same slide: its boxes are larger, so that batches cannot be shared."""
    plans = [whole_plan(reader, batch=8, shard_tiles=None)]
    plans.append(whole_plan(reader, card=replace(plans[0].card, mpp=1.0), batch=5, shard_tiles=None))
    plans.append(plans[0])
    works = [work_of(plan, 0, reader, StainDensity(plan.card)) for plan in plans]
    assert len({work.shape.row_bytes for work in works}) == 2
    with engine_of() as engine:
        for work in works:
            engine.begin(work)
        found = outcomes(engine, works)
    for index, plan in enumerate(plans):
        alone = run_shard(plan, 0, reader, StainDensity(plan.card), stop=threading.Event())
        assert found[index].scores.tobytes() == alone.scores.tobytes()


def test_the_next_shard_is_fetched_before_the_first_is_through_the_model(reader):
    plan = whole_plan(reader, batch=8, shard_tiles=20)
    fetched, free = threading.Event(), threading.Event()

    class Second(DamagedReader):
        def read_tiles(self, level, tiles):
            fetched.set()
            return super().read_tiles(level, tiles)

    model = CountingModel(plan.card, after=lambda number: free.wait(20))
    works = [work_of(plan, 0, reader, model), work_of(plan, 1, Second(reader, ()), model)]
    with engine_of() as engine:
        for work in works:
            engine.begin(work)
        assert fetched.wait(10), "the model's first batch holds up the bytes of the second shard"
        free.set()
        assert all(isinstance(result, ShardResult) for result in outcomes(engine, works).values())


@pytest.mark.parametrize("budget", [0, 3 * 1024**2, 64 * 1024**2])
def test_processes_give_the_bytes_of_threads_whatever_memory_there_is(reader, budget):
    """With little memory boxes are taken in strips."""
    plan = whole_plan(reader, batch=4, shard_tiles=None)
    alone = run_shard(plan, 0, reader, StainDensity(plan.card), stop=threading.Event())
    for decoders in (ThreadDecoders(3, allocate_private(RESERVED)), ProcessDecoders(2, RESERVED)):
        with engine_of(decoders, budget) as engine:
            work = work_of(plan, 0, reader, StainDensity(plan.card))
            engine.begin(work)
            assert outcomes(engine, [work])[0].to_bytes() == alone.to_bytes()


def test_a_broken_tile_has_its_reason_from_a_process_too(reader):
    plan = whole_plan(reader, batch=4, shard_tiles=None)
    damaged = DamagedReader(reader, [10])
    expected = run_shard(plan, 0, damaged, StainDensity(plan.card), stop=threading.Event())
    assert expected.unreadable
    with engine_of(ProcessDecoders(2, RESERVED)) as engine:
        work = work_of(plan, 0, damaged, StainDensity(plan.card))
        engine.begin(work)
        assert outcomes(engine, [work])[0].to_bytes() == expected.to_bytes()


def test_a_work_that_is_stopped_before_it_begins_computes_nothing(reader):
    plan = whole_plan(reader, batch=4)
    stop = threading.Event()
    stop.set()
    model = CountingModel(plan.card)
    with engine_of() as engine:
        engine.begin(work_of(plan, 0, reader, model, stop))
        event = engine.wait_for_event(10)
        assert isinstance(event, Ended)
        assert event.error is None
    assert model.batches == 0


def test_what_is_decoded_after_the_end_is_dropped_in_silence(reader, caplog):
    """As at Ctrl-C: a traceback would be all that is seen of it."""
    plan = whole_plan(reader, batch=1, shard_tiles=None)
    decodes, free = threading.Event(), threading.Event()

    class Slow(DamagedReader):
        def read_runs(self, level, tiles):
            return self._reader.read_runs(level, tiles)

        def decode(self, tile, reduction=1, fill=255):
            decodes.set()
            free.wait(20)
            return super().decode(tile, reduction, fill)

    with closing(ThreadDecoders(2, allocate_private(RESERVED))) as decoders:
        with Engine(decoders, 16 * 1024**2) as engine:
            engine.begin(work_of(plan, 0, Slow(reader, ()), StainDensity(plan.card)))
            assert decodes.wait(10)
        free.set()
    assert not caplog.records
