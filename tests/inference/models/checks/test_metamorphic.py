"""What must not change a table: how many workers there are, the order of tiles, the size of shards, what fills a tail.
Batches of another size may change the last bits of a network's scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from threading import Event

import numpy as np
import pytest

from inference.decoding.memory import allocate_private
from inference.decoding.threads import ThreadDecoders
from inference.engine import Engine
from inference.models.loaded import LoadedModel
from inference.models.package import read_package
from inference.models.registry import load_model
from inference.models.stains.density import StainDensity
from inference.shard_run import ShardRun
from inference.shard_task import ShardTask
from inference.stages.batch import RESERVED
from inference.stages.values import Ended, Outputs
from tests.inference.cases import open_path, small_slide, whole_plan
from tests.inference.packages import write_package
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Plan
from wsi.records.model_card import ModelCard
from wsi.results.shard_result import ShardResult

#: 56 tiles: four shards of 14, whose last batches of 8 hold 6.
BATCH, SHARD = 8, 14


@dataclass(frozen=True)
class Case:
    card: ModelCard
    load: Callable[[], LoadedModel]  #: as each worker does for itself


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    with closing(open_path(small_slide(tmp_path_factory.mktemp("slide")))) as opened:
        yield opened


#: What is computed of a tile before its network.
FAITHFUL = {
    "boxes": "resampled",
    "stain_normalisation": {
        "method": "macenko",
        "stain_vectors": [[0.5626, 0.7201, 0.4062], [0.2159, 0.8012, 0.5581]],
        "max_concentrations": [1.9705, 1.0308],
    },
}


@pytest.fixture(scope="module", params=["stain-density", "network", "faithful-network"])
def case(request, tmp_path_factory) -> Case:
    if request.param == "stain-density":
        return Case(STAIN_DENSITY, partial(StainDensity, STAIN_DENSITY))
    folder = write_package(tmp_path_factory.mktemp("package"))
    if request.param == "faithful-network":
        (folder / "card.json").write_text(json.dumps({"spec_version": "1.0", **FAITHFUL}))
    card = read_package(folder)
    return Case(card, partial(load_model, card, folder, "cpu"))


@pytest.fixture(scope="module")
def plan(reader, case) -> Plan:
    return whole_plan(reader, card=case.card, batch=BATCH, shard_tiles=SHARD)


@pytest.fixture(scope="module")
def table(plan, reader, case) -> bytes:
    """Of one worker that computes one shard after the other, so that every tail is padded."""
    results, padded = computed(plan, reader, case.load(), range(len(plan.shard_sizes)), ahead=1)
    assert padded == len(plan.shard_sizes) * (-SHARD % BATCH)
    return as_bytes(results)


def computed(
    plan: Plan, reader, model: LoadedModel, shards: Sequence[int], *, ahead: int, **waits: float
) -> tuple[list[ShardResult], int]:
    """The results of `shards`, `ahead` of which are in the engine at a time, and how many rows were padding."""
    waiting = list(shards)
    runs: dict[ShardTask, ShardRun] = {}
    results: list[ShardResult] = []
    decoders = ThreadDecoders(2, allocate_private(RESERVED))
    with closing(decoders), Engine(decoders, 16 * 1024**2, **waits) as engine:
        while waiting or runs:
            while waiting and len(runs) < ahead:
                work = ShardTask.from_plan(plan, waiting.pop(0), reader, model, stop=Event())
                runs[work] = ShardRun(work, None)
                engine.begin(work)
            event = engine.wait_for_event(30)
            assert event is not None, "nothing came out"
            if isinstance(event, Outputs):
                runs[event.task].add(event)
            elif isinstance(event, Ended):
                results.append(runs.pop(event.task).end(event))
        return results, engine.forward.padded


def scores_of(results: list[ShardResult]) -> np.ndarray:
    """[tiles, columns] by the tiles' numbers; every tile is there once."""
    tiles = np.concatenate([result.tiles for result in results])
    np.testing.assert_array_equal(np.sort(tiles), np.arange(len(tiles)))
    return np.concatenate([result.scores for result in results])[np.argsort(tiles)]


def as_bytes(results: list[ShardResult]) -> bytes:
    """Scores, and how the tiles look, by the tiles' numbers."""
    tiles = np.concatenate([result.tiles for result in results])
    quality = np.concatenate([result.quality for result in results if result.quality is not None])
    assert not any(result.unreadable for result in results)
    return scores_of(results).tobytes() + quality[np.argsort(tiles)].tobytes()


@pytest.mark.parametrize("workers", [2, 3])
def test_workers_side_by_side_give_the_bytes_of_one(plan, reader, case, table, workers):
    shares = [range(first, len(plan.shard_sizes), workers) for first in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(lambda share: computed(plan, reader, case.load(), share, ahead=2)[0], shares))
    assert as_bytes([result for results in found for result in results]) == table


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_tiles_within_a_shard_changes_no_byte(plan, reader, case, table, seed):
    shards = [plan.shard_tiles(index) for index in range(len(plan.shard_sizes))]
    rng = np.random.default_rng(seed)
    shuffled = replace(plan, order=np.concatenate([rng.permutation(shard) for shard in shards]))
    assert not np.array_equal(shuffled.order, plan.order)
    assert as_bytes(computed(shuffled, reader, case.load(), range(len(shards)), ahead=2)[0]) == table


def test_tiles_dealt_to_shards_at_random_change_no_byte(plan, reader, case, table):
    dealt = replace(plan, order=np.random.default_rng(0).permutation(plan.order))
    assert as_bytes(computed(dealt, reader, case.load(), range(len(plan.shard_sizes)), ahead=2)[0]) == table


def test_shards_of_half_the_size_change_no_byte(plan, reader, case, table):
    edges = plan.shard_offsets
    halved = replace(plan, shard_offsets=np.sort(np.concatenate([edges, (edges[1:] + edges[:-1]) // 2])))
    assert halved.shard_sizes == (SHARD // 2,) * 8
    assert as_bytes(computed(halved, reader, case.load(), range(8), ahead=2)[0]) == table


def test_tails_that_are_filled_change_no_byte(plan, reader, case, table):
    results, padded = computed(
        plan, reader, case.load(), range(len(plan.shard_sizes)), ahead=4, full_batch_seconds=30.0
    )
    assert padded == 0, "56 tiles are seven full batches"
    assert as_bytes(results) == table


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_batches_of_another_size_stay_far_within_the_tolerance(plan, reader, case, table, batch):
    other = whole_plan(reader, card=case.card, batch=batch, shard_tiles=SHARD)
    results, _ = computed(other, reader, case.load(), range(len(other.shard_sizes)), ahead=2)
    expected = np.frombuffer(table, np.float32, len(plan.tiles) * len(plan.card.columns))
    np.testing.assert_allclose(scores_of(results).ravel(), expected, atol=1e-6)  # a card allows 5e-3
    if case.card == STAIN_DENSITY:
        assert as_bytes(results) == table
