from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inference.models.stains.density import CHUNK, COLUMNS, STAINS, UNIT, StainDensity, measure_densities
from wsi.errors import ModelError
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Numerics

NUMERICS = Numerics(version="1", precision="fp32", batch=4, threads=1)
DENSITY = -np.log10(np.maximum(np.arange(256), 1) / 255)
UNMIX = np.linalg.inv(STAINS / np.linalg.norm(STAINS, axis=1, keepdims=True))


def stained(stain: int, amount: float, side: int = 16) -> np.ndarray:
    """Glass through which light passes `amount` of one pure stain."""
    vector = STAINS[stain] / np.linalg.norm(STAINS[stain])
    return np.broadcast_to(np.rint(255 * 10 ** (-amount * vector)).astype(np.uint8), (side, side, 3))


@pytest.mark.parametrize("stain", range(3))
@pytest.mark.parametrize("amount", [0.2, 0.5, 1.0])
def test_pure_stains_separate(stain, amount):
    found = measure_densities(stained(stain, amount))[:3]
    expected = np.zeros(3)
    expected[stain] = amount
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_white_is_zero():
    assert measure_densities(np.full((8, 8, 3), 255, np.uint8)).tolist() == [0, 0, 0, 0]


def test_black_is_finite():
    assert np.isfinite(measure_densities(np.zeros((8, 8, 3), np.uint8))).all()


def test_nuclear_fraction_is_the_share_of_haematoxylin_pixels():
    tile = np.full((16, 16, 3), 255, np.uint8)
    tile[:4] = stained(0, 0.6)[:4]
    tile[8:] = stained(1, 0.6)[8:]
    assert measure_densities(tile)[3] == pytest.approx(0.25)


def published(pixels: np.ndarray) -> np.ndarray:
    """[..., 3] RGB -> [..., 3] amounts of stain by the formula as it stands, in float64."""
    return np.maximum(DENSITY[pixels] @ UNMIX, 0)


def test_every_colour_is_nuclear_or_not_as_the_formula_says_and_means_are_its_own():
    green, blue = np.mgrid[:256, :256].astype(np.uint8)
    for red in range(256):
        plane = np.stack([np.full_like(green, red), green, blue], axis=-1)
        amounts = published(plane)
        found = measure_densities(plane)
        assert found[3] == np.count_nonzero(amounts[..., 0] > 0.15) / 65536
        np.testing.assert_allclose(found[:3], amounts.mean(axis=(0, 1)), rtol=2**-24, atol=1.5 / UNIT)


def test_no_single_colour_is_off_by_more_than_three_roundings():
    colours = np.random.default_rng(0).integers(0, 256, (2000, 3), np.uint8)
    found = np.stack([measure_densities(colour.reshape(1, 1, 3))[:3] for colour in colours])
    np.testing.assert_allclose(found, published(colours), rtol=2**-24, atol=1.5 / UNIT)


def test_no_machine_rounds_a_table_otherwise():
    """Logarithms and inverses of machines differ in their last bits, some 1e-8 of a unit."""
    units = UNIT * DENSITY[:, None, None] * UNMIX
    assert np.abs(units - np.floor(units) - 0.5).min() > 1e-4


@pytest.mark.parametrize("colour", [(1, 255, 255), (255, 1, 255), (255, 255, 1), (1, 1, 1)])
def test_the_largest_amounts_do_not_overflow(colour):
    tile = np.full((512, 512, 3), colour, np.uint8)
    np.testing.assert_allclose(measure_densities(tile)[:3], published(np.array(colour)), rtol=2**-24, atol=1.5 / UNIT)


@pytest.mark.parametrize("pixels", [1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 12_345])
def test_means_are_exact_in_any_order_and_for_any_number_of_pixels(pixels):
    tile = np.random.default_rng(pixels).integers(0, 256, (1, pixels, 3), np.uint8)
    found = measure_densities(tile)
    assert measure_densities(tile[:, ::-1]).tobytes() == found.tobytes()
    assert measure_densities(np.concatenate([tile, tile])).tobytes() == found.tobytes()
    np.testing.assert_allclose(found[:3], published(tile).mean(axis=(0, 1)), rtol=2**-24, atol=1.5 / UNIT)


def test_a_row_does_not_depend_on_its_batch():
    pixels = np.random.default_rng(0).integers(0, 256, (9, 64, 64, 3), np.uint8)
    model = StainDensity(STAIN_DENSITY)
    together = model.infer(pixels, NUMERICS)
    assert together.shape == (9, 4)
    assert together.dtype == np.float32
    alone = np.concatenate([model.infer(pixels[[row]], NUMERICS) for row in range(9)])
    assert together.tobytes() == alone.tobytes()
    assert model.infer(pixels[::-1], NUMERICS)[::-1].tobytes() == together.tobytes()


def test_the_card_names_what_is_computed():
    assert tuple(column.name for column in STAIN_DENSITY.columns) == COLUMNS
    with pytest.raises(ModelError):
        StainDensity(replace(STAIN_DENSITY, columns=STAIN_DENSITY.columns[::-1]))
