"""What each codec does with whole tiles, with smaller ones, with lies and with damage."""

from __future__ import annotations

import functools
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import imagecodecs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openslide import OpenSlide
from PIL import Image

from tests.slides import encode_tile, he_tissue
from tests.slides.bombs import SIZ_SIDE, SOF_SIDE, claim_in_siz, claim_in_sof
from tests.slides.tiffs import APERIO_RGB, APERIO_YCBCR, join_components, write_aperio_jpeg2000, ycbcr_planes
from tests.wsi.slide.sources import oracle_level, read_level
from wsi.errors import TileUnreadable
from wsi.slide.codecs.jpeg2000 import extract_code_stream
from wsi.slide.coding import REDUCTIONS, Codec, Coding, Colour, Extra
from wsi.slide.decoding import DECODERS, decode_tile
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.reducing import reduce_pixels

WIDTH, HEIGHT = 90, 70
PIXELS = he_tissue(np.random.default_rng(3), HEIGHT, WIDTH)
RAW = PIXELS.tobytes()


def coding(codec: Codec, **more: Any) -> Coding:
    return Coding(codec=codec, **{"colour": Colour.RGB, **more})


ENCODERS: Final[dict[Codec, Callable[[], Any]]] = {
    Codec.JPEG: lambda: encode_tile(PIXELS, rgb=True),
    Codec.JPEG_2000: lambda: imagecodecs.jpeg2k_encode(PIXELS, level=0, reversible=True, codecformat="j2k", mct=True),
    Codec.NONE: lambda: RAW,
    Codec.PACKBITS: lambda: imagecodecs.packbits_encode(RAW),
    Codec.LZW: lambda: imagecodecs.lzw_encode(RAW),
    Codec.DEFLATE: lambda: zlib.compress(RAW),
    Codec.ZSTD: lambda: imagecodecs.zstd_encode(RAW),
    Codec.LZMA: lambda: imagecodecs.lzma_encode(RAW),
    Codec.WEBP: lambda: imagecodecs.webp_encode(PIXELS, lossless=True),
    Codec.PNG: lambda: imagecodecs.png_encode(PIXELS),
    Codec.LERC: lambda: imagecodecs.lerc_encode(PIXELS),
}
LOSSY: Final = {Codec.JPEG}


@functools.cache
def encoded(codec: Codec) -> bytes:
    return bytes(ENCODERS[codec]())


def decode(data: bytes, codec: Codec, **more: Any) -> np.ndarray:
    return decode_tile([data], coding(codec, **more), WIDTH, HEIGHT)


def test_every_codec_but_those_of_ndpi_and_old_jpeg_is_held_to_these_facts():
    assert ENCODERS.keys() == DECODERS.keys() - {Codec.JPEG_RESTARTS, Codec.OLD_JPEG}


@pytest.mark.parametrize("codec", sorted(ENCODERS.keys() - LOSSY))
def test_lossless_tiles_are_exact(codec: Codec):
    np.testing.assert_array_equal(decode(encoded(codec), codec), PIXELS)


@pytest.mark.parametrize("codec", ENCODERS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_smaller_tile_is_the_mean_of_squares_or_close_to_it(codec: Codec, reduction: Any):
    found = decode_tile([encoded(codec)], coding(codec), WIDTH, HEIGHT, reduction)
    expected = reduce_pixels(decode(encoded(codec), codec), reduction)
    assert found.shape == expected.shape == (-(-HEIGHT // reduction), -(-WIDTH // reduction), 3)
    # The smaller pictures of libjpeg and of wavelets are not means of squares: nuclei's borders differ.
    inside = np.abs(found.astype(int) - expected)[: HEIGHT // reduction, : WIDTH // reduction]
    assert inside.mean() < (3 if codec in (Codec.JPEG, Codec.JPEG_2000) else 1e-9)


@pytest.mark.parametrize("side", [64, 70, 72, 96])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("colour", [Colour.RGB, Colour.YCBCR])
def test_jpeg_2000_holds_its_smaller_pictures(side: int, reduction: Any, colour: Colour):
    rows, columns = np.mgrid[:side, :side].astype(np.uint8)
    pixels = np.stack([2 * rows, 2 * columns, 128 + 0 * rows], axis=-1)
    tile = imagecodecs.jpeg2k_encode(pixels, level=0, reversible=True, codecformat="j2k", mct=colour is Colour.RGB)
    coded = coding(Codec.JPEG_2000, colour=colour)
    found = decode_tile([tile], coded, side, side, reduction)
    expected = reduce_pixels(decode_tile([tile], coded, side, side), reduction)
    assert found.shape == expected.shape
    inside = side // reduction
    assert (
        np.abs(found.astype(int) - expected)[:inside, :inside].mean() <= reduction
    )  # of a slope of 2 a px, half of (reduction - 1) px off


@pytest.mark.parametrize("side", [1, 2, 7, 15, 16, 17])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_small_jpeg_tiles_shrink_to_the_right_size(side: int, reduction: Any):
    tile = encode_tile(np.ascontiguousarray(PIXELS[:side, :side]), rgb=True)
    found = decode_tile([tile], coding(Codec.JPEG), side, side, reduction)
    assert found.shape == (-(-side // reduction), -(-side // reduction), 3)


@pytest.mark.parametrize("codec", ENCODERS)
def test_a_tile_that_was_cut_off_is_unreadable(codec: Codec):
    data = encoded(codec)
    for length in (0, 1, 20, len(data) // 2, len(data) - 8, len(data) - 3):
        with pytest.raises(TileUnreadable):
            decode(data[:length], codec)


@pytest.mark.parametrize("codec", ENCODERS)
@pytest.mark.parametrize(("across", "down"), [(1, 0), (-1, 0), (0, 1), (0, -1)])
def test_a_tile_of_another_size_is_unreadable(codec: Codec, across: int, down: int):
    with pytest.raises(TileUnreadable):
        decode_tile([encoded(codec)], coding(codec), WIDTH + across, HEIGHT + down)


@pytest.mark.parametrize("codec", ENCODERS)
def test_other_samples_than_the_container_says_are_unreadable(codec: Codec):
    for colour, extra in ((Colour.GREY, Extra.NONE), (Colour.RGB, Extra.UNASSOCIATED)):
        with pytest.raises(TileUnreadable):
            decode(encoded(codec), codec, colour=colour, extra=extra)


@pytest.mark.parametrize("codec", ENCODERS)
def test_a_missing_plane_is_unreadable(codec: Codec):
    with pytest.raises(TileUnreadable, match="2 planes"):
        decode_tile([RAW[::3], RAW[1::3]], coding(codec, planes=True), WIDTH, HEIGHT)


def small_precincts() -> bytes:
    """A code stream that says it is cut into precincts of 2 px: 1.7 GB and 16 s for 1,024 px (OpenJPEG 2.5.4)."""
    data = bytes(imagecodecs.jpeg2k_encode(np.zeros((1024, 1024, 3), np.uint8), level=40, codecformat="j2k"))
    at = data.index(b"\xff\x52")
    levels = data[at + 9]
    return data[: at + 14] + b"\x11" * (levels + 1) + data[at + 15 + levels :]


def many_scans() -> bytes:
    """A progressive JPEG whose last scan comes a thousand times more: each goes over all of the tile."""
    file = BytesIO()
    Image.fromarray(np.zeros((1024, 1024, 3), np.uint8)).save(file, "JPEG", progressive=True)
    whole = file.getvalue()
    return whole[:-2] + whole[whole.rindex(b"\xff\xda") : -2] * 1000 + whole[-2:]


def changed(codec: Codec, at: int, new: bytes) -> bytes:
    data = encoded(codec)
    return data[:at] + new + data[at + len(new) :]


BOMBS: Final[dict[str, tuple[Codec, Callable[[], bytes]]]] = {
    "sof": (Codec.JPEG, lambda: claim_in_sof(encoded(Codec.JPEG), SOF_SIDE)),
    "siz": (Codec.JPEG_2000, lambda: claim_in_siz(encoded(Codec.JPEG_2000), SIZ_SIDE)),
    "siz-tiles": (Codec.JPEG_2000, lambda: changed(Codec.JPEG_2000, 24, struct.pack(">II", 1, 1))),
    "deflate": (Codec.DEFLATE, lambda: zlib.compress(bytes(300_000_000), 9)),
    "lzw": (Codec.LZW, lambda: bytes(imagecodecs.lzw_encode(bytes(30_000_000)))),
    "zstd": (Codec.ZSTD, lambda: bytes(imagecodecs.zstd_encode(bytes(300_000_000), level=19))),
    "lzma": (Codec.LZMA, lambda: bytes(imagecodecs.lzma_encode(bytes(30_000_000)))),
    "packbits": (Codec.PACKBITS, lambda: b"\x81\0" * 100_000),
    "png": (Codec.PNG, lambda: changed(Codec.PNG, 16, struct.pack(">II", 60_000, 60_000))),
    "webp": (Codec.WEBP, lambda: changed(Codec.WEBP, 21, b"\xff\xff\xff\x0f")),
    "lerc": (Codec.LERC, lambda: changed(Codec.LERC, 14, struct.pack("<II", 60_000, 60_000))),
}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks of memory are measured on Linux")
@pytest.mark.parametrize("name", BOMBS)
def test_a_tile_bomb_costs_nothing(name: str):
    codec, make = BOMBS[name]
    bomb = make()
    Path("/proc/self/clear_refs").write_text("5")  # proc(5): the peak begins anew, as making the bomb took more.
    before = resident()["VmRSS"]
    with pytest.raises(TileUnreadable):
        decode(bomb, codec)
    assert resident()["VmHWM"] - before < 50 * 1024


@pytest.mark.parametrize("make", [small_precincts, many_scans], ids=["precincts", "scans"])
def test_a_tile_that_is_cut_into_too_many_parts_is_refused_before_it_is_decoded(make: Callable[[], bytes]):
    data = make()
    codec = Codec.JPEG_2000 if data.startswith(b"\xff\x4f") else Codec.JPEG
    with pytest.raises(TileUnreadable, match="too many"):  # our own words: no decoder saw it
        decode_tile([data], coding(codec), 1024, 1024)


def test_a_code_stream_that_leaves_its_length_to_the_data_is_watched_too():
    data = encoded(Codec.JPEG_2000)
    at = data.index(b"\xff\x90") + 6
    endless = data[:at] + bytes(4) + data[at + 4 :]
    np.testing.assert_array_equal(decode(endless, Codec.JPEG_2000), PIXELS)
    for length in (len(data) - 1, len(data) - 3, len(data) // 2):
        with pytest.raises(TileUnreadable):
            decode(endless[:length], Codec.JPEG_2000)


def resident() -> dict[str, int]:
    """KiB of this process: VmRSS now, VmHWM at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines) if "kB" in value}


@pytest.mark.parametrize("codec", ENCODERS)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_tile_is_unreadable_or_of_the_right_shape(codec: Codec, data: st.DataObject):
    hurt = bytearray(encoded(codec))
    for at in data.draw(st.lists(st.integers(0, 120) | st.integers(0, len(hurt) - 1), min_size=1, max_size=4)):
        hurt[min(at, len(hurt) - 1)] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del hurt[data.draw(st.integers(0, len(hurt))) :]
    try:
        found = decode(bytes(hurt), codec)
    except TileUnreadable:
        return
    assert (found.shape, found.dtype) == ((HEIGHT, WIDTH, 3), np.uint8)


@pytest.mark.parametrize("codec", [Codec.PNG, Codec.LERC, Codec.DEFLATE, Codec.LZMA])
def test_packings_with_checksums_notice_any_bit(codec: Codec):
    data = encoded(codec)
    for at in range(60, len(data) - 20, 97):
        hurt = bytearray(data)
        hurt[at] ^= 16
        with suppress(TileUnreadable):
            np.testing.assert_array_equal(decode(bytes(hurt), codec), PIXELS)


def test_ycbcr_of_jpeg_2000_is_converted_here(tmp_path: Path):
    planes = ycbcr_planes(128, halved=False)
    path = write_aperio_jpeg2000(
        tmp_path / "a.svs", [join_components(planes)] * 4, compression=APERIO_YCBCR, side=128, across=2
    )
    found = read_level(open_slide(open_local_source(path)), 0)
    assert np.abs(found.astype(int) - oracle_level(path, 0)).max() <= 1


def test_halved_chroma_of_jpeg_2000_is_widened_as_openslide_does(tmp_path: Path):
    planes = ycbcr_planes(128, halved=True)
    path = write_aperio_jpeg2000(
        tmp_path / "a.svs", [join_components(planes)] * 4, compression=APERIO_YCBCR, side=128, across=2
    )
    with OpenSlide(path) as slide:
        assert slide.properties["openslide.vendor"] == "aperio"
    found = read_level(open_slide(open_local_source(path)), 0)
    assert np.abs(found.astype(int) - oracle_level(path, 0)).max() <= 1


def test_halved_components_that_are_no_chroma_are_unreadable():
    stream = join_components(ycbcr_planes(128, halved=True))
    with pytest.raises(TileUnreadable, match="several sizes"):
        decode_tile([stream], coding(Codec.JPEG_2000), 128, 128)


def test_rgb_of_jpeg_2000_is_exact(tmp_path: Path):
    tile = bytes(imagecodecs.jpeg2k_encode(PIXELS[:64, :64].copy(), level=40, codecformat="j2k", mct=True))
    path = write_aperio_jpeg2000(tmp_path / "a.svs", [tile] * 4, compression=APERIO_RGB, side=64, across=2)
    np.testing.assert_array_equal(read_level(open_slide(open_local_source(path)), 0), oracle_level(path, 0))


def test_boxes_around_a_code_stream_change_nothing():
    boxed = bytes(imagecodecs.jpeg2k_encode(PIXELS, level=0, reversible=True, codecformat="jp2", mct=True))
    assert extract_code_stream(boxed).startswith(b"\xff\x4f\xff\x51")
    np.testing.assert_array_equal(decode(boxed, Codec.JPEG_2000), PIXELS)
    with pytest.raises(TileUnreadable, match="no whole code stream"):
        decode(boxed[:60], Codec.JPEG_2000)
