from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from inference.models.builtin.epithelium import Epithelium
from inference.pipeline import run_shard
from tests.inference.cases import open_path, small_slide, whole_plan
from tests.inference.fetched_weights import epithelium_weights
from tests.inference.test_engine import engine_of, outcomes, work_of
from tests.wsi.planning.test_stains import GOLDEN
from wsi.errors import ModelError
from wsi.models.builtin import BUILTIN, EPITHELIUM, STAIN_DENSITY
from wsi.planning.plan import Numerics
from wsi.planning.stains import compute_stain_planes, estimate_stains
from wsi.slide.resample import resize


@pytest.fixture(scope="module")
def golden():
    """What lavlab-shell's own code found on a picture: goldens/make_epithelium.py."""
    with np.load(GOLDEN) as file:
        return dict(file)


@pytest.fixture(scope="module")
def model():
    return Epithelium(EPITHELIUM, epithelium_weights(), "cpu")


@pytest.fixture(scope="module")
def numerics(golden):
    stains = estimate_stains(golden["pixels"], golden["tissue"])
    return Numerics(version="1", precision="fp32", batch=1, threads=1, stains=stains)


def mirrored(pixels, side=1024):
    """[1, side, side, 3]: the picture, and its mirror images around it."""
    return np.pad(pixels, ((0, side - len(pixels)), (0, side - len(pixels)), (0, 0)), mode="symmetric")[None]


def test_shares_are_those_of_the_networks_own_code(model, golden, numerics):
    scores = model.infer(mirrored(golden["pixels"]), numerics)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, golden["fractions"][None], atol=5e-4)


def test_a_finer_level_is_shrunk_in_whole_grey_values_before_its_stains_are_told_apart(golden, numerics):
    tried = Epithelium(replace(EPITHELIUM, input_px=256), epithelium_weights(), "cpu")
    fine = mirrored(golden["pixels"], 500)
    shrunk = np.rint(resize(fine, 256)).astype(np.uint8)
    np.testing.assert_allclose(tried.infer(fine, numerics), tried.infer(shrunk, numerics), atol=1e-3)


def test_a_tiles_row_does_not_depend_on_the_tiles_beside_it(golden, numerics):
    tried = Epithelium(replace(EPITHELIUM, input_px=256), epithelium_weights(), "cpu")
    tile = mirrored(golden["pixels"], 256)
    tiles = np.concatenate([tile, tile[:, ::-1], np.full_like(tile, 240)])
    together = tried.infer(tiles, numerics)
    assert tried.infer(tiles[1:2].copy(), numerics).tobytes() == together[1:2].tobytes()
    assert tried.infer(tiles[::-1].copy(), numerics)[::-1].tobytes() == together.tobytes()


def test_other_stains_give_other_shares(golden, numerics):
    tried = Epithelium(replace(EPITHELIUM, input_px=256), epithelium_weights(), "cpu")
    tile = mirrored(golden["pixels"], 256)
    stains = replace(numerics.stains, eosin_range=(0.0, 0.2), haematoxylin_range=(0.0, 0.2), density_range=(0.0, 0.2))
    assert not np.allclose(tried.infer(tile, numerics), tried.infer(tile, replace(numerics, stains=stains)), atol=0.01)


class MeanPlanes:
    """What the network is given, in the mean: four columns, the last one 0."""

    def __init__(self, card):
        self.card = card

    def infer(self, pixels, numerics):
        means = compute_stain_planes(pixels, numerics.stains).mean(axis=(2, 3))
        return np.pad(means, ((0, 0), (0, 1))).astype(np.float32)


def test_slides_in_one_engine_keep_their_own_stains_when_tails_are_filled(tmp_path, numerics):
    reader = open_path(small_slide(tmp_path))
    plan = whole_plan(reader, batch=8, shard_tiles=14)
    assert all(size % 8 for size in plan.shard_sizes)
    other = replace(numerics.stains, eosin_range=(0.0, 0.3), haematoxylin_range=(0.1, 0.4), density_range=(0.0, 0.5))
    plans = [replace(plan, numerics=replace(plan.numerics, stains=stains)) for stains in (numerics.stains, other)]
    model = MeanPlanes(plan.card)
    works = [work_of(planned, index, reader, model) for index in (0, 1) for planned in plans]
    with engine_of() as engine:
        for work in works:
            engine.begin(work)
        found = outcomes(engine, works)
    assert found[0].scores.tobytes() != found[1].scores.tobytes()
    for number, work in enumerate(works):
        alone = run_shard(work.plan, work.index, reader, model, stop=threading.Event())
        assert found[number].to_bytes() == alone.to_bytes()


def test_a_plan_without_stains_is_refused(model, golden, numerics):
    with pytest.raises(ModelError, match="no stains"):
        model.infer(mirrored(golden["pixels"]), replace(numerics, stains=None))


def test_a_card_of_other_columns_is_refused():
    with pytest.raises(ModelError, match="other columns"):
        Epithelium(STAIN_DENSITY, epithelium_weights(), "cpu")


def test_only_networks_of_stain_ask_for_stains():
    assert [name for name, card in BUILTIN.items() if card.needs_stains] == ["epithelium", "nuclei-zeiss"]
