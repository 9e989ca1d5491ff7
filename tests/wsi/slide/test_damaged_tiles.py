"""Tiles that a bad disk, a bad line or a bad person made: each is either exactly what libjpeg reads, or unreadable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import simplejpeg

from tests.shared_slides import shared_slide
from tests.slides.bombs import TILE, write_bomb
from tests.slides.flips import FLIPS, Flip, write_flips
from tests.wsi.slide.sources import oracle_level
from wsi.errors import TileUnreadable
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import RGB, SlideReader


def test_of_sixty_tiles_with_one_turned_bit_those_that_libjpeg_warns_of_are_unreadable_and_the_rest_equal(
    tmp_path: Path,
):
    original = shared_slide("derived/cmu-small-region.pyramid-jpeg-ycbcr.tif")
    flips = write_flips(original, tmp_path / "flips.tif")
    reader = open_slide(open_local_source(tmp_path / "flips.tif"))
    found = _decoded(reader, [flip.tile for flip in flips])
    expected = {flip.tile: _strict(flip) for flip in flips}
    assert len(expected) == FLIPS
    assert {tile for tile in found if found[tile] is None} == {tile for tile in expected if expected[tile] is None}
    for tile, pixels in expected.items():
        np.testing.assert_array_equal(found[tile], pixels)
    # Both kinds are there; a decoder that only looked whether a picture came out would read all sixty.
    assert 15 < sum(pixels is None for pixels in expected.values()) < 45


@pytest.mark.parametrize("codec", ["jpeg", "jpeg2000"])
def test_a_tile_that_claims_to_be_larger_is_unreadable_and_its_neighbours_are_not(tmp_path: Path, codec):
    path = write_bomb(tmp_path / "bomb.svs", codec, spared=5)
    reader = open_slide(open_local_source(path))
    found = _decoded(reader, range(16))
    assert [tile for tile in range(16) if found[tile] is not None] == [0, 1, 2, 3, 4]
    whole = oracle_level(write_bomb(tmp_path / "sound.svs", codec, spared=16), 0)
    np.testing.assert_array_equal(found[0], whole[:TILE, :TILE])


def _strict(flip: Flip) -> RGB | None:
    """What libjpeg makes of the tile; None when it so much as warns."""
    try:
        return simplejpeg.decode_jpeg(flip.jpeg, strict=True)
    except ValueError:
        return None


def _decoded(reader: SlideReader, tiles) -> dict[int, RGB | None]:
    found: dict[int, RGB | None] = {}
    for tile in reader.read_tiles(0, tiles):
        try:
            found[tile.index] = reader.decode(tile)
        except TileUnreadable:
            found[tile.index] = None
    return found
