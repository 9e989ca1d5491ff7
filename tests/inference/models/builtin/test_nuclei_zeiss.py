"""The network for fluorescence, with its real weights, on haematoxylin."""

from __future__ import annotations

import numpy as np
import pytest

from inference.models.builtin.nuclei_zeiss import NucleiZeiss
from inference.models.builtin.wheels import NUCLEI_ZEISS as WHEEL
from inference.models.checks.receptive_field import measure_margin
from tests.inference.fetched_weights import fetched_weights
from tests.wsi.planning.test_stains import GOLDEN
from wsi.errors import ModelError
from wsi.models.builtin import NUCLEI_ZEISS
from wsi.planning.plan import Numerics
from wsi.planning.stains import compute_stain_planes, estimate_stains


@pytest.fixture(scope="module")
def model():
    return NucleiZeiss(NUCLEI_ZEISS, fetched_weights(WHEEL), "cpu")


@pytest.fixture(scope="module")
def picture():
    with np.load(GOLDEN) as file:
        return dict(file)


@pytest.fixture(scope="module")
def numerics(picture):
    stains = estimate_stains(picture["pixels"], picture["tissue"])
    return Numerics(version="1", precision="fp32", batch=1, threads=1, stains=stains)


def test_nuclei_are_where_haematoxylin_is(model, picture, numerics):
    tile = np.ascontiguousarray(picture["pixels"][None])
    maps = model.infer_maps(tile, numerics)
    assert (maps.dtype, maps.shape) == (np.uint8, (1, 2, 1024, 1024))
    assert maps[:, 0].tobytes() == maps[:, 1].tobytes()
    stain = compute_stain_planes(tile, numerics.stains)[0, 1].repeat(8, axis=0).repeat(8, axis=1)
    inside = maps[0, 0] >= NUCLEI_ZEISS.objects.rule.inside
    assert 0 < inside.mean() < 0.5
    assert stain[inside].mean() > 2 * stain[~inside].mean()


def test_a_plan_without_stains_is_refused(model, picture):
    with pytest.raises(ModelError, match="no stains"):
        model.infer_maps(picture["pixels"][None], Numerics(version="1", precision="fp32", batch=1, threads=1))


def test_boxes_are_whole_pixels_on_usual_slides():
    side = NUCLEI_ZEISS.tile_px * NUCLEI_ZEISS.mpp
    assert (side / 0.25, side / 0.5) == (640, 320)


class InStain:
    """The network's maps of pixels whose stains are pinned."""

    def __init__(self, model, numerics):
        self.card, self.last_step = model.card, None
        self._model, self._numerics = model, numerics

    def compute_map_output(self, pixels):
        return self._model.infer_maps(pixels, self._numerics).astype(np.float32)


def test_it_depends_on_the_whole_tile(model, numerics):
    """Squeeze and excitation: the card keeps one side for that reason."""
    assert measure_margin(InStain(model, numerics)) is None
