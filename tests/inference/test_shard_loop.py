"""The loop that drives the engine: what it asks of a source, and what it hands to a sink."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from inference.decoding.memory import allocate_private
from inference.decoding.threads import ThreadDecoders
from inference.engine import Engine
from inference.models.stains.density import StainDensity
from inference.shard_loop import SHARDS_IN_FLIGHT, ShardLoop, ShardSink
from inference.shard_run import ShardRun
from inference.shard_task import ShardTask
from inference.stages.batch import RESERVED
from inference.stages.values import Outputs
from tests.inference.cases import CountingModel, open_path, small_slide, whole_plan
from tests.inference.test_pipeline import FailingReader
from wsi.errors import SourceChanged
from wsi.results.shard_result import ShardResult


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with closing(open_path(small_slide(tmp_path_factory.mktemp("slide")))) as opened:
        yield opened


@contextmanager
def new_engine() -> Iterator[Engine]:
    with closing(ThreadDecoders(2, allocate_private(RESERVED))) as decoders, Engine(decoders, 16 * 1024**2) as engine:
        yield engine


class Shards(ShardSink):
    """A source of given runs, None where it has none now, and a sink that notes what comes of them."""

    def __init__(self, *runs: ShardRun | None) -> None:
        self._runs = list(runs)
        self.waits: list[bool] = []  #: as the loop asked
        self.begun: list[ShardRun] = []
        self.ended: list[tuple[str, ShardRun]] = []
        self.most_in_flight = 0
        self.steps = self.tiles = 0
        self.at_batch: Callable[[], object] = lambda: None

    def take_next(self, *, wait: bool) -> ShardRun | None:
        self.waits.append(wait)
        run = self._runs.pop(0) if self._runs else None
        if run is not None:
            self.begun.append(run)
            self.most_in_flight = max(self.most_in_flight, len(self.begun) - len(self.ended))
        return run

    def on_step(self, run: ShardRun) -> None:
        self.steps += 1

    def on_batch(self, run: ShardRun, outputs: Outputs) -> None:
        self.tiles += outputs.count
        self.at_batch()

    def on_finished(self, run: ShardRun, result: ShardResult) -> None:
        assert result.done == run.done
        self.ended.append(("finished", run))

    def on_stopped(self, run: ShardRun) -> None:
        self.ended.append(("stopped", run))

    def on_failed(self, run: ShardRun, error: Exception) -> None:
        self.ended.append((type(error).__name__, run))


def new_runs(plan: Any, reader: Any, model: Any = None, **options: Any) -> list[ShardRun]:
    return [
        ShardRun(
            ShardTask.from_plan(
                plan, index, reader, model or StainDensity(plan.card), stop=options.get("stop", threading.Event())
            ),
            None,
            on_checkpoint=options.get("on_checkpoint"),
            checkpoint_batches=1,
        )
        for index in range(len(plan.shard_sizes))
    ]


def test_every_shard_ends_once_and_two_are_in_flight(reader: Any) -> None:
    plan = whole_plan(reader, batch=4, shard_tiles=10)
    runs = new_runs(plan, reader)
    shards = Shards(*runs)
    with new_engine() as engine:
        ShardLoop(engine, shards, shards).run()
    assert sorted(shards.ended, key=lambda end: runs.index(end[1])) == [("finished", run) for run in runs]
    assert shards.most_in_flight == SHARDS_IN_FLIGHT
    assert shards.tiles == len(plan.tiles)
    assert shards.steps > len(runs)
    assert shards.waits[0]
    assert shards.waits[-1]


def test_a_source_that_has_none_now_is_asked_again_while_a_shard_is_computed(reader: Any) -> None:
    plan = whole_plan(reader, batch=4, shard_tiles=30)
    first, second = new_runs(plan, reader)
    shards = Shards(first, None, second)
    with new_engine() as engine:
        ShardLoop(engine, shards, shards).run()
    assert [run for _, run in shards.ended] == [first, second]
    assert shards.waits[:3] == [True, False, False]


def test_a_shard_without_tiles_left_finishes_without_the_engine(reader: Any) -> None:
    plan = whole_plan(reader, shard_tiles=None)
    model = StainDensity(plan.card)
    (run,) = new_runs(plan, reader)
    shards = Shards(run)
    results: list[ShardResult] = []
    shards.on_finished = lambda run, result: results.append(result)  # type: ignore[method-assign]
    with new_engine() as engine:
        ShardLoop(engine, shards, shards).run()
        (whole,) = results
        task = ShardTask.from_plan(plan, 0, reader, model, resume=whole, stop=threading.Event())
        again = Shards(ShardRun(task, whole))
        ShardLoop(engine, again, again).run()
    assert [end for end, _ in again.ended] == ["finished"]
    assert (again.steps, again.tiles) == (1, 0)


def test_a_slide_that_fails_ends_its_own_shard_only(reader: Any) -> None:
    plan = whole_plan(reader, batch=4, shard_tiles=20)
    good = new_runs(plan, reader)
    bad = new_runs(plan, FailingReader(reader, "fetch"))
    shards = Shards(good[0], bad[1], good[2])
    with new_engine() as engine:
        ShardLoop(engine, shards, shards).run()
    assert {run: end for end, run in shards.ended} == {
        good[0]: "finished",
        bad[1]: SourceChanged.__name__,
        good[2]: "finished",
    }


def test_a_checkpoint_that_cannot_be_written_fails_its_shard_and_computes_no_more_of_it(reader: Any) -> None:
    plan = whole_plan(reader, batch=4, shard_tiles=None)

    def refuse(_: ShardResult) -> None:
        raise OSError("the disk is full")

    (run,) = new_runs(plan, reader, on_checkpoint=refuse)
    shards = Shards(run)
    with new_engine() as engine:
        ShardLoop(engine, shards, shards).run()
    assert shards.ended == [("OSError", run)]
    assert run.task.is_cancelled
    assert shards.tiles == 0


def test_a_stopped_shard_ends_with_its_checkpoint(reader: Any) -> None:
    plan = whole_plan(reader, batch=4, shard_tiles=None)
    stop = threading.Event()
    saved: list[ShardResult] = []
    model = CountingModel(plan.card, after=lambda number: stop.set() if number == 2 else None)
    (run,) = new_runs(plan, reader, model, stop=stop, on_checkpoint=saved.append)
    shards = Shards(run)
    with new_engine() as engine:
        ShardLoop(engine, shards, shards).run()
    assert shards.ended == [("stopped", run)]
    assert saved[-1].done == run.done == 8


def test_shards_that_are_dropped_have_no_outcome_and_end_the_loop(reader: Any) -> None:
    """As the watchdog drops them, from a thread of its own, while the model hangs."""
    plan = whole_plan(reader, batch=4, shard_tiles=30)
    hangs, freed = threading.Event(), threading.Event()

    def hang(_: int) -> None:
        hangs.set()
        assert freed.wait(30)

    runs = new_runs(plan, reader, CountingModel(plan.card, after=hang))
    shards = Shards(*runs)
    with new_engine() as engine:
        loop = ShardLoop(engine, shards, shards)
        thread = threading.Thread(target=loop.run)
        thread.start()
        assert hangs.wait(30)
        assert list(loop.drop_all()) == runs
        thread.join(30)
        assert not thread.is_alive()
        freed.set()
    assert shards.ended == []
    assert all(run.task.is_cancelled for run in runs)


def test_what_a_sink_raises_ends_the_loop_and_drops_the_shards_in_flight(reader: Any) -> None:
    plan = whole_plan(reader, batch=4, shard_tiles=30)
    runs = new_runs(plan, reader)
    shards = Shards(*runs)

    def interrupt() -> None:
        raise KeyboardInterrupt

    shards.at_batch = interrupt
    with new_engine() as engine, pytest.raises(KeyboardInterrupt):
        ShardLoop(engine, shards, shards).run()
    assert all(run.task.is_cancelled for run in runs)
