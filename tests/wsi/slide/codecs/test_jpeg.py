from __future__ import annotations

import tracemalloc
from contextlib import suppress

import imagecodecs
import numpy as np
import pytest
import simplejpeg
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.slides import encode_tile, he_tissue, split_tables
from wsi.errors import TileUnreadable
from wsi.slide.codecs import jpeg
from wsi.slide.coding import Codec, Coding, Colour, Extra
from wsi.slide.decoding import decode_tile

SIDE = 64
PIXELS = he_tissue(np.random.default_rng(1), SIDE, SIDE)
APP0 = bytes.fromhex("ffe000104a46494600010100000100010000")
ADOBE_NONE = bytes.fromhex("ffee000e41646f626500640000000000")
ADOBE_YCBCR = bytes.fromhex("ffee000e41646f626500640000000001")


def tables_and_tile(*, rgb: bool) -> tuple[bytes, bytes]:
    return split_tables(encode_tile(PIXELS, rgb=rgb, quality=95))


def decoded(tables: bytes, tile: bytes, *, rgb: bool) -> np.ndarray:
    shared = jpeg.extract_tables(tables)
    return jpeg.decode(
        jpeg.complete(tile, tables=shared, colour=Colour.RGB if rgb else Colour.YCBCR, width=SIDE, height=SIDE)
    )


def truth(*, rgb: bool) -> np.ndarray:
    """What libjpeg makes of the whole JPEG as its encoder marked it."""
    return simplejpeg.decode_jpeg(encode_tile(PIXELS, rgb=rgb, quality=95))


@pytest.mark.parametrize("rgb", [True, False])
def test_the_container_decides_the_colours(rgb: bool):
    tables, tile = tables_and_tile(rgb=rgb)
    np.testing.assert_array_equal(decoded(tables, tile, rgb=rgb), truth(rgb=rgb))


def test_unmarked_rgb_would_be_wrong_by_far_without_the_rule():
    tables, tile = tables_and_tile(rgb=True)
    unmarked = b"\xff\xd8" + tables[2:-2] + tile[2:]
    difference = np.abs(simplejpeg.decode_jpeg(unmarked).astype(int) - truth(rgb=True))
    assert difference.max() > 100


@pytest.mark.parametrize("rgb", [True, False])
@pytest.mark.parametrize(
    "marker", [APP0, ADOBE_NONE, ADOBE_YCBCR, APP0 + ADOBE_NONE], ids=["jfif", "none", "ycc", "both"]
)
@pytest.mark.parametrize("where", ["tables", "tile", "tile-after-frame"])
def test_markers_that_contradict_the_container_are_dropped_wherever_they_are(rgb: bool, marker: bytes, where: str):
    tables, tile = tables_and_tile(rgb=rgb)
    if where == "tables":
        tables = tables[:-2] + marker + tables[-2:]
    else:
        at = 2 if where == "tile" else tile.index(b"\xff\xda")
        tile = tile[:at] + marker + tile[at:]
    np.testing.assert_array_equal(decoded(tables, tile, rgb=rgb), truth(rgb=rgb))


def test_exactly_one_colour_marker_is_left():
    tables, tile = tables_and_tile(rgb=False)
    whole = jpeg.complete(
        tile[:2] + APP0 + ADOBE_NONE + tile[2:],
        tables=jpeg.extract_tables(tables),
        colour=Colour.YCBCR,
        width=64,
        height=64,
    )
    markers = [marker for marker, _, _ in jpeg.read_segments(whole)]
    assert markers.count(0xEE) == 1
    assert 0xE0 not in markers
    assert ADOBE_YCBCR in whole


def test_a_picture_inside_the_tables_adds_nothing():
    tables, tile = tables_and_tile(rgb=False)
    frame = next(tile[start:end] for marker, start, end in jpeg.read_segments(tile) if marker == 0xC0)
    assert jpeg.extract_tables(tables[:-2] + frame + tables[-2:]) == jpeg.extract_tables(tables)


def test_a_huge_claim_is_refused_before_decoding():
    tables, tile = tables_and_tile(rgb=False)
    at = tile.index(b"\xff\xc0")
    bomb = tile[: at + 5] + (30_000).to_bytes(2, "big") * 2 + tile[at + 9 :]
    tracemalloc.start()
    with pytest.raises(TileUnreadable, match="claims 30000 x 30000 px"):
        decoded(tables, bomb, rgb=False)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_a_second_frame_header_is_refused():
    tables, tile = tables_and_tile(rgb=False)
    start, end = next((start, end) for marker, start, end in jpeg.read_segments(tile) if marker == 0xC0)
    with pytest.raises(TileUnreadable, match="2 frame headers"):
        decoded(tables, tile[:end] + tile[start:end] + tile[end:], rgb=False)


def test_a_grey_jpeg_in_a_colour_slide_is_unreadable():
    grey = simplejpeg.encode_jpeg(np.ascontiguousarray(PIXELS[..., :1]), colorspace="GRAY", colorsubsampling="Gray")
    with pytest.raises(TileUnreadable, match="1 components"):
        decoded(b"\xff\xd8\xff\xd9", grey, rgb=False)


def test_what_libjpeg_only_warns_of_is_unreadable():
    tables, tile = tables_and_tile(rgb=False)
    with pytest.raises(TileUnreadable):
        decoded(tables, tile[: len(tile) // 2], rgb=False)


@pytest.mark.parametrize("rgb", [True, False])
def test_a_silent_container_leaves_the_colours_to_the_markers(rgb: bool):
    whole = encode_tile(PIXELS, rgb=rgb, quality=95)  # RGB with Adobe's marker, YCbCr with JFIF's.
    coding = Coding(codec=Codec.JPEG, colour=Colour.AS_CODED)
    np.testing.assert_array_equal(decode_tile([whole], coding, SIDE, SIDE), truth(rgb=rgb))


@pytest.mark.parametrize(
    "samples", [Coding(codec=Codec.JPEG, colour=Colour.GREY), Coding(codec=Codec.JPEG, colour=Colour.AS_CODED)]
)
def test_grey_is_shown_in_three_equal_colours(samples: Coding):
    grey = np.ascontiguousarray(PIXELS[..., :1])
    tile = simplejpeg.encode_jpeg(grey, colorspace="GRAY", colorsubsampling="Gray", quality=95)
    expected = np.repeat(simplejpeg.decode_jpeg(tile, colorspace="GRAY"), 3, axis=2)
    np.testing.assert_array_equal(decode_tile([tile], samples, SIDE, SIDE), expected)


@pytest.mark.parametrize("components", [2, 4])
def test_components_beside_the_colours_are_read_and_watched_as_strictly(components: int):
    """libjpeg's wrapper knows no pictures of two components: a third one is claimed that no scan holds."""
    pixels = np.concatenate((PIXELS, PIXELS[::-1, :, :1]), axis=2)[..., :components]
    tile = bytes(imagecodecs.jpeg8_encode(np.ascontiguousarray(pixels), level=95))
    colour = Colour.GREY if components == 2 else Colour.RGB
    expected = imagecodecs.jpeg8_decode(tile)[..., : 1 if components == 2 else 3]
    coding = Coding(codec=Codec.JPEG, colour=colour, extra=Extra.IGNORED)
    assert (decode_tile([tile], coding, SIDE, SIDE) == expected).all()
    with pytest.raises(TileUnreadable):
        decode_tile([tile[: len(tile) // 2]], coding, SIDE, SIDE)
    assert imagecodecs.jpeg8_decode(tile[: len(tile) // 2]).shape == pixels.shape  # The other decoder paints.


def test_planes_of_one_component_are_put_together():
    tiles = [bytes(imagecodecs.jpeg8_encode(np.ascontiguousarray(PIXELS[..., k]), level=95)) for k in range(3)]
    found = decode_tile(tiles, Coding(codec=Codec.JPEG, colour=Colour.RGB, planes=True), SIDE, SIDE)
    for k in range(3):
        np.testing.assert_array_equal(found[..., k], imagecodecs.jpeg8_decode(tiles[k]))


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_unreadable_and_nothing_else(data: bytes):
    tables, _ = tables_and_tile(rgb=False)
    with pytest.raises(TileUnreadable):
        decoded(tables, b"\xff\xd8" + data, rgb=False)


@settings(deadline=None)
@given(st.data())
def test_a_flipped_byte_gives_pixels_or_unreadable(data: st.DataObject):
    tables, tile = tables_and_tile(rgb=True)
    at = data.draw(st.integers(0, len(tile) - 1))
    hurt = tile[:at] + bytes([tile[at] ^ data.draw(st.integers(1, 255))]) + tile[at + 1 :]
    with suppress(TileUnreadable):
        assert decoded(tables, hurt, rgb=True).shape == (SIDE, SIDE, 3)
