"""Boxes that keep fractions of a pixel: the model gets the picture that Pillow samples there, by every way through the
worker."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import openslide
import pytest
from numpy.typing import NDArray
from PIL import Image

from inference.decoding.processes import ProcessDecoders
from inference.engine import Engine
from inference.models.loaded import LoadedModel
from inference.models.stains.density import StainDensity
from inference.pipeline import run_shard
from inference.stages.batch import RESERVED
from tests.inference.cases import open_path, run_all, whole_plan
from tests.inference.stages.test_forward import QueueingModel
from tests.slides import write_pyramid_tiff
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Plan
from wsi.records.model_card import Boxes, ModelCard, Resize
from wsi.results.shard_result import ShardResult

INPUT = 64
#: 101 level-0 px a box, of a level that has a quarter of the slide's pixels a side, and is 3 px short of that.
CARD = replace(
    STAIN_DENSITY, tile_px=101, mpp=2.0, input_px=INPUT, resize=Resize.PILLOW_BILINEAR, boxes=Boxes.RESAMPLED
)
KINDS = {Resize.PILLOW_BILINEAR: Image.Resampling.BILINEAR, Resize.PILLOW_BICUBIC: Image.Resampling.BICUBIC}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,203 x 1,001 px at 0.5 um, of which the second level is 300 x 250: its pixels are 4.01 px of the first."""
    return write_pyramid_tiff(
        tmp_path_factory.mktemp("slide") / "a.tiff", width=1203, height=1001, levels=(1, 4), mpp=0.5
    )


@pytest.fixture(scope="module")
def reader(path: Path):
    with closing(open_path(path)) as opened:
        yield opened


class KeepingModel(StainDensity):
    """Keeps the pixels that it is given; a tile's first score is the number of its row."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        self.kept: list[NDArray[np.uint8]] = []

    def infer(self, pixels, numerics):
        scores = np.zeros((len(pixels), len(self.card.columns)), np.float32)
        scores[:, 0] = np.arange(len(pixels)) + len(pixels) * len(self.kept)
        self.kept.append(pixels.copy())
        return scores

    def of(self, result: ShardResult) -> NDArray[np.uint8]:
        return np.concatenate(self.kept)[result.scores[:, 0].astype(int)]


def given(plan: Plan, reader) -> NDArray[np.uint8]:
    """[tiles, height, width, 3] what a model is given, by the tiles' numbers."""
    model = KeepingModel(plan.card)
    return model.of(run_all(plan, reader, model=model))


def by_hand(path: Path, plan: Plan) -> NDArray[np.uint8]:
    """The same by OpenSlide and one call of Pillow a tile, as an engineer would write it."""
    made: list[NDArray[np.uint8]] = []
    with openslide.OpenSlide(path) as slide:
        width, height = slide.level_dimensions[plan.grid.level]
        level = Image.new("RGB", (width + 200, height + 200), "white")
        level.paste(slide.read_region((0, 0), plan.grid.level, (width, height)).convert("RGB"))
    scale = plan.grid.level_downsample
    for x, y in plan.tiles.tolist():
        left, top, right, bottom = (at / scale for at in (x, y, x + plan.grid.side, y + plan.grid.side))
        corner = int(left), int(top)
        crop = level.crop((*corner, int(np.ceil(right)), int(np.ceil(bottom))))
        box = (left - corner[0], top - corner[1], right - corner[0], bottom - corner[1])
        made.append(np.asarray(crop.resize((INPUT, INPUT), KINDS[plan.card.resize], box=box)))
    return np.stack(made)


@pytest.mark.parametrize("resize", list(KINDS))
def test_the_model_gets_what_pillow_samples_at_the_boxes_own_place(path: Path, reader, resize: Resize) -> None:
    plan = whole_plan(reader, card=replace(CARD, resize=resize))
    grid = plan.grid
    assert (grid.level, grid.side, grid.level_downsample) == (1, 404, pytest.approx(4.01, abs=0.01))
    assert (grid.fractions, grid.level_side) == (True, 102)
    apart = np.abs(given(plan, reader).astype(int) - by_hand(path, plan))
    # Their edges are not rounded to 1/1024 px, which moves a sum past a half here and there.
    assert (apart.max(), (apart > 0).mean() < 0.01) == (1, True)


def test_whole_boxes_lie_elsewhere(path: Path, reader) -> None:
    plan = whole_plan(reader, card=CARD)
    whole = whole_plan(reader, card=replace(CARD, boxes=Boxes.WHOLE))
    assert not whole.grid.fractions
    assert whole.grid.level_side == 101
    assert len({plan.digest, whole.digest}) == 2
    assert plan.tiles.tolist() == whole.tiles.tolist()


def test_exact_cards_get_whole_grey_values_of_the_exact_filter(path: Path, reader) -> None:
    exact = given(whole_plan(reader, card=replace(CARD, resize=Resize.EXACT)), reader)
    rounded = given(whole_plan(reader, card=CARD), reader)
    apart = np.abs(exact.astype(int) - rounded)
    assert 0 < apart.max() <= 1


def test_boxes_on_whole_pixels_give_what_whole_boxes_give(tmp_path: Path) -> None:
    path = write_pyramid_tiff(tmp_path / "b.tiff", width=1200, height=1000, levels=(1, 4), mpp=0.5)
    with closing(open_path(path)) as reader:
        plan = whole_plan(reader, card=CARD)
        assert plan.grid.level_downsample == 4
        whole = given(whole_plan(reader, card=replace(CARD, boxes=Boxes.WHOLE)), reader)
        expected = [np.asarray(Image.fromarray(tile).resize((INPUT, INPUT), KINDS[CARD.resize])) for tile in whole]
        np.testing.assert_array_equal(given(plan, reader), np.stack(expected))


def tables(plan: Plan, reader, model: LoadedModel, engine: Engine | None = None) -> tuple[bytes, bytes]:
    result = run_shard(plan, 0, reader, model, engine=engine, stop=threading.Event())
    assert result.quality is not None
    return result.scores.tobytes(), result.quality.tobytes()


def test_threads_processes_and_devices_give_the_same_bytes(reader) -> None:
    plan = whole_plan(reader, card=CARD, batch=5, shard_tiles=None)
    assert len(plan.shard_sizes) == 1
    scores, quality = tables(plan, reader, StainDensity(CARD))
    with closing(ProcessDecoders(2, RESERVED)) as decoders, Engine(decoders, 16 * 1024**2) as engine:
        assert tables(plan, reader, StainDensity(CARD), engine) == (scores, quality)
    assert tables(plan, reader, QueueingModel(CARD)) == (scores, quality)


def test_shards_and_batches_change_no_tile(reader) -> None:
    whole = given(whole_plan(reader, card=CARD, batch=64, shard_tiles=None), reader)
    np.testing.assert_array_equal(given(whole_plan(reader, card=CARD, batch=3, shard_tiles=4), reader), whole)


def test_boxes_of_two_models_share_no_batch(reader) -> None:
    """One engine goes from whole boxes to resampled ones and back."""
    plans = [whole_plan(reader, card=replace(CARD, boxes=boxes)) for boxes in (Boxes.WHOLE, Boxes.RESAMPLED)]
    alone = [tables(plan, reader, StainDensity(plan.card)) for plan in plans]
    with closing(ProcessDecoders(1, RESERVED)) as decoders, Engine(decoders, 16 * 1024**2) as engine:
        for number in (0, 1, 0, 1):
            model = StainDensity(plans[number].card)
            assert tables(plans[number], reader, model, engine) == alone[number]
