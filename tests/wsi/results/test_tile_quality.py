from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wsi.results.tile_quality import COLUMNS, QUALITY_VERSION, measure


def look(tile: np.ndarray) -> dict[str, float]:
    return dict(zip(COLUMNS, measure(tile[None])[0].tolist(), strict=True))


def flat(*colour: int, side: int = 256) -> np.ndarray:
    return np.full((side, side, 3), colour, np.uint8)


def nuclei(side: int = 256) -> np.ndarray:
    """Violet discs of 12 px on pink, 25 px apart, as H&E."""
    y, x = np.mgrid[:side, :side]
    disc = ((y % 25 - 12) ** 2 + (x % 25 - 12) ** 2) < 36
    return np.where(disc[..., None], (95, 60, 140), (225, 170, 200)).astype(np.uint8)


def blurred(tile: np.ndarray, radius: int) -> np.ndarray:
    shifted = [
        np.roll(tile, (y, x), (0, 1)).astype(float)
        for y in range(-radius, radius + 1)
        for x in range(-radius, radius + 1)
    ]
    return np.mean(shifted, axis=0).astype(np.uint8)


def test_the_blur_value_falls_with_every_step_out_of_focus():
    sharp = nuclei()
    values = [look(blurred(sharp, radius))["blur"] for radius in (0, 1, 2, 4)]
    assert values == sorted(values, reverse=True)
    assert values[0] > 20 * values[-1]


def test_an_even_tile_has_no_detail_at_all():
    assert look(flat(200, 120, 180))["blur"] == 0


def test_glass_is_white_and_has_no_colour():
    seen = look(flat(240, 241, 238))
    assert seen["white_fraction"] == 1
    assert seen["saturation"] == pytest.approx(3 / 241, abs=1e-2)
    assert look(nuclei())["white_fraction"] == 0


def test_half_a_tile_of_glass_is_half_white():
    tile = nuclei()
    tile[:, 128:] = 245
    assert look(tile)["white_fraction"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    "ink",
    [(20, 60, 200), (10, 130, 70), (0, 150, 160), (225, 30, 40)],
    ids=["blue", "green", "turquoise", "red"],
)
def test_ink_is_counted_where_it_lies(ink):
    tile = nuclei()
    tile[:64] = ink
    assert look(tile)["pen_fraction"] == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize(
    "stain",
    [(95, 60, 140), (225, 120, 180), (150, 100, 60), (128, 128, 128), (40, 40, 42), (60, 20, 70)],
    ids=["haematoxylin", "eosin", "DAB", "grey", "black", "dense"],
)
def test_stains_grey_and_black_are_no_ink(stain):
    assert look(flat(*stain))["pen_fraction"] == 0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), side=st.sampled_from([1, 2, 3, 19, 40, 41, 224]), height=st.integers(1, 80))
def test_a_tile_has_the_same_bytes_in_every_batch(seed, side, height):
    tiles = np.random.default_rng(seed).integers(0, 256, (5, height, side, 3), dtype=np.uint8)
    together = measure(tiles)
    alone = np.concatenate([measure(tile[None]) for tile in tiles])
    assert together.tobytes() == alone.tobytes()
    backwards = measure(np.asfortranarray(tiles[::-1]))[::-1]
    assert together.tobytes() == backwards.tobytes()
    assert np.isfinite(together).all()
    assert ((together[:, 1:] >= 0) & (together[:, 1:] <= 1)).all()


def test_the_blur_value_is_the_variance_of_the_laplacian_at_the_lattice():
    tile = np.random.default_rng(1).integers(0, 256, (60, 60, 3), dtype=np.uint8)
    green = tile[..., 1].astype(int)
    # A side of 60 px has a lattice of every third pixel, from the second one on.
    bends = [
        4 * green[y, x] - green[y - 1, x] - green[y + 1, x] - green[y, x - 1] - green[y, x + 1]
        for y in range(1, 59, 3)
        for x in range(1, 59, 3)
    ]
    assert look(tile)["blur"] == pytest.approx(np.var(bends), rel=1e-6)


def test_no_tiles_have_no_rows():
    assert measure(np.zeros((0, 8, 8, 3), np.uint8)).shape == (0, len(COLUMNS))


def test_no_byte_of_a_version_changes():
    def pattern(height: int, width: int) -> np.ndarray:
        """The same on every machine, and as colourful as noise."""
        number = np.arange(3 * height * width * 3, dtype=np.uint64)
        values = (number * number * np.uint64(2654435761) >> np.uint64(13)) & np.uint64(255)
        return values.astype(np.uint8).reshape(3, height, width, 3)

    digest = sha256()
    for size in ((1, 1), (2, 9), (59, 60), (256, 256)):
        digest.update(measure(pattern(*size)).tobytes())
    assert {QUALITY_VERSION: digest.hexdigest()} == {
        1: "04ea590fe9f4a4a97c7a45db527c8856bcf505b9d3e1a2dca8bb8c7eddf57919"
    }
