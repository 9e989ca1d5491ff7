from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.wsi.plans import plan
from wsi.planning.plan import Numerics, Plan
from wsi.planning.stains import EOSIN, HAEMATOXYLIN, Stains, compute_stain_planes, estimate_stains

GOLDEN = Path(__file__).parents[2] / "inference/goldens/epithelium.npz"
STAINS = Stains(
    glass=240.0,
    eosin=(-0.5, 1.1, 0.1),
    haematoxylin=(1.2, -0.2, 0.2),
    eosin_range=(0.0, 0.8),
    haematoxylin_range=(-0.01, 0.9),
    density_range=(0.0, 0.7),
)


@pytest.fixture(scope="module")
def golden():
    """What lavlab-shell's own code found on a picture: tests/inference/goldens/make_epithelium.py."""
    with np.load(GOLDEN) as file:
        return dict(file)


def stained(haematoxylin: np.ndarray, eosin: np.ndarray, glass: int = 240) -> np.ndarray:
    """[height, width, 3] RGB of amounts [height, width], by the law of light in stained tissue."""
    vectors = np.array([HAEMATOXYLIN, EOSIN]) / np.linalg.norm([HAEMATOXYLIN, EOSIN], axis=1, keepdims=True)
    density = haematoxylin[..., None] * vectors[0] + eosin[..., None] * vectors[1]
    return np.rint(glass * 10**-density).clip(0, 255).astype(np.uint8)


def test_stains_are_those_that_the_networks_own_code_finds(golden):
    found = estimate_stains(golden["pixels"], golden["tissue"])
    assert found.glass == pytest.approx(golden["glass"], abs=1e-4)
    np.testing.assert_allclose(found.eosin, golden["eosin"], atol=1e-4)
    np.testing.assert_allclose(found.haematoxylin, golden["haematoxylin"], atol=1e-4)
    ranges = [found.eosin_range, found.haematoxylin_range, found.density_range]
    np.testing.assert_allclose(ranges, golden["ranges"], atol=1e-4)


def test_the_networks_input_is_that_of_its_own_code(golden):
    """But for values that lie within a rounding error of the next step of 1/255."""
    stains = estimate_stains(golden["pixels"], golden["tissue"])
    planes = compute_stain_planes(golden["pixels"][None], stains)
    assert planes.shape == (1, 3, 128, 128)
    assert planes.dtype == np.float32
    difference = np.abs(np.rint(planes[0].transpose(1, 2, 0) * 255) - golden["planes"])
    assert difference.max() <= 1
    assert (difference > 0).mean() < 1e-3


def test_two_stains_that_were_mixed_are_told_apart():
    random = np.random.default_rng(0)
    haematoxylin, eosin = random.uniform(0.05, 0.9, (2, 200, 300))
    haematoxylin[:, :100], eosin[:, 100:200] = 0.02, 0.02  # where each is nearly alone
    pixels = stained(haematoxylin, eosin)
    tissue = np.ones((200, 300), bool)
    tissue[:20] = False
    pixels[:20] = 240
    found = estimate_stains(pixels, tissue)
    assert found.glass == 240
    density = -np.log10(np.clip(pixels[20:], 1, 240) / 240)
    assert np.corrcoef((density @ found.haematoxylin).ravel(), haematoxylin[20:].ravel())[0, 1] > 0.99
    assert np.corrcoef((density @ found.eosin).ravel(), eosin[20:].ravel())[0, 1] > 0.99


@pytest.mark.parametrize("grey", [0, 240, 255])
@pytest.mark.parametrize("tissue", [True, False])
def test_a_picture_without_stain_still_gives_numbers(grey, tissue):
    pixels = np.full((32, 32, 3), grey, np.uint8)
    found = estimate_stains(pixels, np.full((32, 32), tissue))
    planes = compute_stain_planes(pixels[None], found)
    assert np.isfinite(planes).all()
    assert planes.min() >= 0
    assert planes.max() <= 1


def test_one_stain_alone_still_gives_numbers():
    pixels = stained(np.random.default_rng(0).uniform(0, 1, (64, 64)), np.zeros((64, 64)))
    found = estimate_stains(pixels, np.ones((64, 64), bool))
    assert np.isfinite(compute_stain_planes(pixels[None], found)).all()
    assert compute_stain_planes(pixels[None], found).max() == 1


def test_glass_is_white_without_light_and_what_is_dense_is_one():
    pixels = np.array([[[[255, 255, 255], [240, 240, 240], [1, 1, 1], [0, 0, 0]]]], np.uint8)
    planes = compute_stain_planes(pixels, STAINS)[0, :, 0]
    assert planes[0, :2].tolist() == planes[2, :2].tolist() == [0, 0]
    assert planes[2, 2:].tolist() == [1, 1]


def test_a_tiles_planes_do_not_depend_on_the_tiles_beside_it():
    tiles = np.random.default_rng(0).integers(0, 256, (5, 33, 47, 3), np.uint8)
    together = compute_stain_planes(tiles, STAINS)
    for tile, planes in zip(tiles, together, strict=True):
        assert compute_stain_planes(tile[None], STAINS)[0].tobytes() == planes.tobytes()


def pinned(stains: Stains | None) -> Plan:
    made = plan()
    return replace(made, numerics=replace(made.numerics, stains=stains))


def test_stains_travel_in_the_plan_and_are_part_of_its_digest():
    made = pinned(STAINS)
    read = Plan.from_bytes(made.to_bytes())
    assert read.numerics.stains == STAINS
    assert read.digest == made.digest
    assert made.digest != pinned(replace(STAINS, glass=241.0)).digest
    assert made.digest != plan().digest


def test_plans_without_stains_and_their_digests_are_what_they_were():
    assert "stains" not in pinned(None).numerics.as_json()
    assert pinned(None).digest == plan().digest
    older = {"version": "1", "precision": "fp32", "batch": 8, "threads": 1}
    assert Numerics.from_json(older) == Numerics(version="1", precision="fp32", batch=8, threads=1)
    assert Numerics.from_json(older).as_json() == older


def test_fields_that_a_newer_planner_adds_are_left_out():
    newer = {**STAINS.as_json(), "dab": [0.1, 0.2, 0.3]}
    assert Stains.from_json(newer) == STAINS
