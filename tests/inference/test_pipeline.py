from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import tifffile
from PIL import Image

from inference.decoding.memory import allocate_private
from inference.decoding.threads import ThreadDecoders
from inference.engine import Engine
from inference.models.stains.density import StainDensity
from inference.pipeline import run_shard
from inference.shard_run import Drained
from inference.shard_task import ShardTask
from inference.stages.batch import RESERVED
from inference.stages.values import Ended
from tests.inference.cases import (
    CountingModel,
    DamagedReader,
    boxes,
    direct,
    open_path,
    run_all,
    small_slide,
    whole_plan,
)
from tests.shared_slides import shared_slide
from tests.slides import he_tissue
from wsi.errors import ModelError, SourceChanged
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.model_card import EdgeFill
from wsi.results.shard_result import ShardResult
from wsi.results.tile_quality import measure


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    opened = open_path(small_slide(tmp_path_factory.mktemp("slide")))
    yield opened
    opened.close()


def no_stop() -> threading.Event:
    return threading.Event()


def test_a_shard_equals_the_direct_computation(reader):
    plan = whole_plan(reader)
    result = run_shard(plan, 1, reader, StainDensity(plan.card), stop=no_stop())
    expected = direct(plan, reader)
    assert result.tiles.tolist() == sorted(plan.shard_tiles(1).tolist())
    assert result.scores.tobytes() == expected[result.tiles].tobytes()
    assert not result.unreadable


@pytest.mark.parametrize("fill", list(EdgeFill))
@pytest.mark.parametrize(
    ("changes", "mpp", "size"),
    [
        ({"mpp_y": 0.41}, 0.5, (256, 312)),
        ({"fast": True}, 1.0, (256, 256)),
        ({"mpp_y": 0.41, "fast": True}, 1.0, (256, 312)),
    ],
    ids=["rectangles", "fast", "fast rectangles"],
)
def test_rectangles_and_reduced_tiles_equal_the_direct_computation(reader, changes, mpp, size, fill):
    card = replace(STAIN_DENSITY, mpp=mpp, edge_fill=fill)
    plan = whole_plan(reader, card=card, **changes)
    grid = plan.grid
    assert (grid.level_side, grid.level_side_y, grid.reduction) == (*size, 2 if "fast" in changes else 1)
    assert plan.tiles[:, 1].max() + grid.side_y > plan.inspection.height
    cut = boxes(plan, reader, 255 if fill is EdgeFill.WHITE else 0)
    expected = np.stack([StainDensity(card).infer(box[None], plan.numerics)[0] for box in cut])
    assert run_all(plan, reader).scores.tobytes() == expected.tobytes()


def test_a_stretched_copy_of_a_slide_gives_nearly_the_values_of_the_slide(tmp_path):
    picture = he_tissue(np.random.default_rng(3), 1024, 1024)
    stretched = np.asarray(Image.fromarray(picture).resize((1024, 1280), Image.Resampling.BILINEAR))
    tables = []
    for name, pixels, down in (("square", picture, 20_000), ("stretched", stretched, 25_000)):
        path = tmp_path / f"{name}.tif"
        tifffile.imwrite(
            path,
            pixels,
            photometric="rgb",
            tile=(256, 256),
            compression="zlib",
            resolution=(20_000, down),
            resolutionunit="CENTIMETER",
        )
        opened = open_path(path)
        plan = whole_plan(opened)
        tables.append(run_all(plan, opened).scores)
        assert (plan.grid.level_side, plan.grid.level_side_y) == (256, 256 * down // 20_000)
        opened.close()
    assert tables[0].shape == tables[1].shape == (16, 4)
    np.testing.assert_allclose(tables[1][:, :3], tables[0][:, :3], atol=0.01)


def test_a_broken_file_tile_is_unreadable_at_every_reduction(reader):
    plan = whole_plan(reader, card=replace(STAIN_DENSITY, mpp=1.0), fast=True, shard_tiles=None)
    result = run_all(plan, DamagedReader(reader, [0]))
    assert result.unreadable == {0: "file tile 0: bad Huffman code"}


def test_edge_tile_is_padded_not_dropped(reader):
    plan = whole_plan(reader, shard_tiles=None)
    assert plan.tiles[:, 0].max() + plan.grid.side > plan.inspection.width
    assert run_all(plan, reader).done == len(plan.tiles)


def test_what_lies_past_the_edge_has_the_cards_colour(reader):
    plan = whole_plan(reader, shard_tiles=None)
    black = replace(plan, card=replace(plan.card, edge_fill=EdgeFill.BLACK))
    result = run_all(black, reader)
    expected = np.stack([StainDensity(plan.card).infer(box[None], plan.numerics)[0] for box in boxes(plan, reader, 0)])
    assert result.scores.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("shard_tiles", "batch", "workers"), [(7, 8, 1), (20, 5, 3), (None, 64, 2), (1, 3, 1)])
def test_the_result_does_not_depend_on_shards_batches_or_threads(reader, shard_tiles, batch, workers):
    reference = whole_plan(reader)
    plan = whole_plan(reader, shard_tiles=shard_tiles, batch=batch)
    result = run_all(plan, reader, decode_workers=workers)
    assert result.scores.tobytes() == run_all(reference, reader).scores.tobytes()
    assert result.tiles.tolist() == list(range(len(plan.tiles)))


def test_the_tail_is_padded_to_the_one_shape(reader):
    shapes = []
    plan = whole_plan(reader, shard_tiles=20, batch=8)

    class Shapes(StainDensity):
        def infer(self, pixels, numerics):
            shapes.append(pixels.shape)
            return super().infer(pixels, numerics)

    run_shard(plan, 0, reader, Shapes(plan.card), stop=no_stop())
    assert shapes == [(8, 256, 256, 3)] * 3


def test_a_broken_file_tile_makes_exactly_its_model_tiles_unreadable(reader):
    plan = whole_plan(reader, shard_tiles=None)
    broken = [10, 11]
    result = run_all(plan, DamagedReader(reader, broken))
    whole = run_all(plan, reader)
    level = plan.inspection.levels[0]
    columns = -(-level.width // level.tile_width)
    for number, (x, y) in enumerate(plan.tiles):
        touched = [
            tile
            for tile in broken
            if x < (tile % columns + 1) * 240 and x + 256 > tile % columns * 240
            if y < (tile // columns + 1) * 240 and y + 256 > tile // columns * 240
        ]
        if touched:
            assert result.unreadable[number] == "; ".join(f"file tile {tile}: bad Huffman code" for tile in touched)
        else:
            assert number not in result.unreadable
            row = result.scores[result.tiles == number][0]
            assert row.tobytes() == whole.scores[number].tobytes()
    assert result.done == len(plan.tiles)


def test_two_damaged_tiles_of_a_real_slide_are_named():
    path = shared_slide("derived/cmu-small-region.two-tiles-damaged.svs")
    reader = open_path(path)
    result = run_all(whole_plan(reader, shard_tiles=None), reader)
    assert result.unreadable
    assert {reason.split(":")[0] for text in result.unreadable.values() for reason in text.split("; ")} == {
        "file tile 65",
        "file tile 66",
    }


def test_a_shard_of_unreadable_tiles_runs_no_model(reader):
    plan = whole_plan(reader, shard_tiles=None)
    model = CountingModel(plan.card)
    result = run_shard(plan, 0, DamagedReader(reader, range(1000)), model, stop=no_stop())
    assert (model.batches, len(result.tiles), len(result.unreadable)) == (0, 0, len(plan.tiles))


def test_checkpoints_come_every_so_many_batches_and_hold_all_so_far(reader):
    plan = whole_plan(reader, shard_tiles=None, batch=4)
    seen = []
    run_shard(plan, 0, reader, StainDensity(plan.card), on_checkpoint=seen.append, checkpoint_batches=3, stop=no_stop())
    # 56 tiles make 14 batches: the last checkpoint is due at 12, and the end is the result itself.
    assert [result.done for result in seen] == [12, 24, 36, 48]


def test_checkpoints_come_by_time_too(reader):
    plan = whole_plan(reader, shard_tiles=None, batch=8)
    seen = []
    run_shard(plan, 0, reader, StainDensity(plan.card), on_checkpoint=seen.append, checkpoint_seconds=0, stop=no_stop())
    assert len(seen) == 6


def test_stop_finishes_the_batch_in_flight_and_the_next_attempt_computes_none_of_it_again(reader):
    plan = whole_plan(reader, shard_tiles=None, batch=8)
    whole = run_shard(plan, 0, reader, StainDensity(plan.card), stop=no_stop())
    stop, seen = no_stop(), []
    model = CountingModel(plan.card, after=lambda number: stop.set() if number == 3 else None)
    with pytest.raises(Drained):
        run_shard(plan, 0, reader, model, on_checkpoint=seen.append, stop=stop)
    assert model.batches == 3
    assert seen[-1].done == 3 * 8
    again = CountingModel(plan.card)
    resumed = run_shard(plan, 0, reader, again, resume=seen[-1], stop=no_stop())
    assert again.batches == 4
    assert resumed.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("checkpoint", range(4))
def test_resume_from_any_checkpoint_gives_the_same_bytes(reader, checkpoint):
    plan = whole_plan(reader, shard_tiles=None, batch=4)
    damaged = DamagedReader(reader, [0, 30])
    seen = []
    whole = run_shard(
        plan, 0, damaged, StainDensity(plan.card), on_checkpoint=seen.append, checkpoint_batches=2, stop=no_stop()
    )
    saved = type(whole).from_bytes(seen[checkpoint].to_bytes())
    resumed = run_shard(plan, 0, damaged, StainDensity(plan.card), resume=saved, stop=no_stop())
    assert resumed.to_bytes() == whole.to_bytes()


def test_a_finished_checkpoint_reads_nothing(reader):
    plan = whole_plan(reader, shard_tiles=None)
    whole = run_shard(plan, 0, reader, StainDensity(plan.card), stop=no_stop())
    model = CountingModel(plan.card)
    assert run_shard(plan, 0, reader, model, resume=whole, stop=no_stop()).to_bytes() == whole.to_bytes()
    assert model.batches == 0


def test_a_checkpoint_of_another_plan_or_shard_is_refused(reader):
    plan, other = whole_plan(reader), whole_plan(reader, batch=16)
    first = run_shard(plan, 0, reader, StainDensity(plan.card), stop=no_stop())
    with pytest.raises(ValueError, match="another plan"):
        run_shard(other, 0, reader, StainDensity(other.card), resume=first, stop=no_stop())
    with pytest.raises(ValueError, match="another shard"):
        run_shard(plan, 1, reader, StainDensity(plan.card), resume=first, stop=no_stop())


def test_stop_before_the_first_batch_writes_no_checkpoint(reader):
    plan, seen, stop = whole_plan(reader), [], no_stop()
    stop.set()
    with pytest.raises(Drained):
        run_shard(plan, 0, reader, StainDensity(plan.card), on_checkpoint=seen.append, stop=stop)
    assert seen == []


class FailingReader(DamagedReader):
    """Fails in `stage` at the third tile."""

    def __init__(self, reader, stage):
        super().__init__(reader, ())
        self._stage = stage
        self._decoded = 0

    def read_tiles(self, level, tiles):
        for number, tile in enumerate(super().read_tiles(level, tiles)):
            if self._stage == "fetch" and number == 2:
                raise SourceChanged("The slide was replaced.")
            yield tile

    def decode(self, tile, reduction=1, fill=255):
        self._decoded += 1
        if self._stage == "decode" and self._decoded == 3:
            raise SourceChanged("The slide was replaced.")
        return super().decode(tile, reduction, fill)


@pytest.mark.parametrize("stage", ["fetch", "decode"])
def test_an_error_while_reading_ends_the_run_as_it_is(reader, stage):
    plan = whole_plan(reader, shard_tiles=None)
    with pytest.raises(SourceChanged):
        run_shard(plan, 0, FailingReader(reader, stage), StainDensity(plan.card), stop=no_stop())
    assert_no_stage_is_left()


def test_an_error_of_the_model_or_of_a_callback_ends_the_run_as_it_is(reader):
    plan = whole_plan(reader, shard_tiles=None)

    def fail(_):
        raise KeyError("broken")

    with pytest.raises(KeyError):
        run_shard(plan, 0, reader, CountingModel(plan.card, after=fail), stop=no_stop())
    with pytest.raises(KeyError):
        run_shard(plan, 0, reader, StainDensity(plan.card), on_batch=fail, stop=no_stop())
    assert_no_stage_is_left()


def test_a_score_that_is_no_number_is_an_error_of_the_model(reader):
    class NotANumber(StainDensity):
        def infer(self, pixels, numerics):
            return np.full((len(pixels), 4), np.nan, np.float32)

    plan = whole_plan(reader)
    with pytest.raises(ModelError, match="not numbers"):
        run_shard(plan, 0, reader, NotANumber(plan.card), stop=no_stop())


def test_reading_waits_for_a_slow_model(tmp_path):
    reader = open_path(small_slide(tmp_path, width=240 * 30, height=240 * 20))
    handed_out = []

    class Counting(DamagedReader):
        def read_tiles(self, level, tiles):
            for tile in super().read_tiles(level, tiles):
                handed_out.append(tile.index)
                yield tile

    plan = whole_plan(reader, shard_tiles=None, batch=8)
    release = threading.Event()
    model = CountingModel(plan.card, after=lambda number: release.wait(30))
    decoders = ThreadDecoders(2, allocate_private(RESERVED))
    with Engine(decoders, budget=0, encoded_bytes=64 * 1024) as engine:
        engine.begin(ShardTask.from_plan(plan, 0, Counting(reader, ()), model, stop=no_stop()))
        time.sleep(1.5)
        ahead = len(handed_out)
        release.set()
        while not isinstance(engine.wait_for_event(60), Ended):
            pass
    decoders.close()
    assert ahead < 300
    assert set(handed_out) == set(range(600))


def test_on_batch_counts_every_tile_once(reader):
    plan = whole_plan(reader, shard_tiles=None)
    counts = []
    run_shard(plan, 0, DamagedReader(reader, [20]), StainDensity(plan.card), on_batch=counts.append, stop=no_stop())
    assert sum(counts) == len(plan.tiles)


def assert_no_stage_is_left():
    names = {"fetch", "decode", "batch", "forward"}
    assert not [thread for thread in threading.enumerate() if thread.name in names]


def test_how_tiles_look_depends_on_no_batch_worker_or_attempt(reader):
    plan = whole_plan(reader)
    once = run_all(plan, reader, decode_workers=1)
    assert once.quality.tobytes() == measure(np.stack(boxes(plan, reader, 255))).tobytes()
    other = whole_plan(reader, batch=3, shard_tiles=7)
    assert run_all(other, reader, decode_workers=4).quality.tobytes() == once.quality.tobytes()


def test_tiles_of_a_checkpoint_keep_how_they_look_and_those_of_an_older_worker_have_none(reader):
    plan = whole_plan(reader, shard_tiles=None)
    saved: list[ShardResult] = []
    model = StainDensity(plan.card)
    whole = run_shard(plan, 0, reader, model, on_checkpoint=saved.append, checkpoint_batches=1, stop=no_stop())
    resume = ShardResult.from_bytes(saved[0].to_bytes())
    assert run_shard(plan, 0, reader, model, resume=resume, stop=no_stop()).quality.tobytes() == whole.quality.tobytes()
    older = run_shard(plan, 0, reader, model, resume=replace(resume, quality=None), stop=no_stop())
    before = np.isin(older.tiles, resume.tiles)
    assert np.isnan(older.quality[before]).all()
    assert older.quality[~before].tobytes() == whole.quality[~before].tobytes()
