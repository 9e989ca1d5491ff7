from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import tifffile
from numpy.typing import NDArray
from openslide import OpenSlide

from tests.calls import count_calls
from tests.shared_slides import shared_slide
from tests.slides import damage, write_pyramid_tiff
from tests.slides.bombs import write_bomb
from tests.slides.tiffs import OLD_DEFLATE, SHAPE, change_tag, tissue, write_tiled
from tests.wsi.slide.sources import CountingSource, read_level
from wsi.errors import RejectReason, SlideRejected, TileUnreadable
from wsi.records.slides import Choice, LevelInfo
from wsi.slide.coding import Codec, Coding, Colour
from wsi.slide.index import LevelIndex, TileExtents
from wsi.slide.layouts.registry import read_index
from wsi.slide.layouts.tiff_levels import check_tail
from wsi.slide.opening import open_local_source, open_slide

ODD = "odd-tiff/imagecodecs.rgb.tiled."


def openslide_on_white(path: Path, level: int) -> NDArray[np.int64]:
    with OpenSlide(path) as slide:
        found = np.asarray(slide.read_region((0, 0), level, slide.level_dimensions[level])).astype(int)
    colours, alpha = found[..., :3], found[..., 3:]
    return np.rint((colours * alpha + 255 * (255 - alpha)) / 255).astype(int)


def tifffile_page(path: Path, page: int) -> NDArray[np.int64]:
    with tifffile.TiffFile(path) as file:
        found = file.pages[page].asarray().astype(int)
    found = np.moveaxis(found, 0, -1) if found.ndim == 3 and found.shape[0] == 3 else found
    return np.repeat(found[..., None], 3, axis=2) if found.ndim == 2 else found


def largest_difference(path: Path, *, tifffile_pages: tuple[int, ...] = ()) -> int:
    """To OpenSlide at every level, or to those pages by tifffile."""
    # The files of imagecodecs hold their image twice.
    choice = Choice(picture=1) if "imagecodecs" in path.name else None
    reader = open_slide(open_local_source(path), choice=choice)
    assert reader.inspection.reading_path == "native"
    levels = range(len(reader.inspection.levels))
    if tifffile_pages:
        assert len(levels) == len(tifffile_pages)
        truths = [tifffile_page(path, page) for page in tifffile_pages]
    else:
        with OpenSlide(path) as slide:
            sizes = [(info.width, info.height) for info in reader.inspection.levels]
            assert sizes == list(slide.level_dimensions)
        truths = [openslide_on_white(path, level) for level in levels]
    return max(
        int(np.abs(read_level(reader, level) - truth).max()) for level, truth in zip(levels, truths, strict=True)
    )


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("derived/cmu-small-region.crop512-nompp-lzw.tif", 0),
        ("real/mask-grey-pyramid-jpeg.empaia-mask_test.tif", 0),
        ("real/mask-pyramid-bigtiff-lzw.slide2vec-test-mask.tif", 0),
        ("odd-tiff/image-tiff.tiled-rect-rgb-u8.tif", 0),
        ("odd-tiff/imagecodecs.gray.tiled.u1.tif", 0),
        ("odd-tiff/imagecodecs.rgb.separate.tiled.u1.tif", 0),
        ("odd-tiff/imagecodecs.rgba.tiled.u1.tif", 1),
        ("odd-tiff/large_image.small_la.tiff", 0),
        ("odd-tiff/large_image.test_orient1.tif", 0),
        ("odd-tiff/pillow.tiff_tiled_planar_raw.tif", 0),
        ("odd-tiff/pillow.tiff_tiled_raw.tif", 0),
        (ODD + "jpeg.u1.tif", 0),
        (ODD + "lzw.u1.tif", 0),
        (ODD + "packbits.u1.tif", 0),
        (ODD + "u1.tif", 0),
        (ODD + "zstd.u1.tif", 0),
    ],
)
def test_every_level_of_a_tiled_slide_equals_openslide(name: str, tolerance: int):
    assert largest_difference(shared_slide(name)) <= tolerance


@pytest.mark.parametrize("packing", ["jpeg2000", "jpegxl", "lerc", "lzma", "png"])
def test_packings_that_openslide_does_not_read_equal_tifffile(packing: str):
    assert largest_difference(shared_slide(f"{ODD}{packing}.u1.tif"), tifffile_pages=(0,)) == 0


def test_a_packing_whose_decoder_ends_the_process_on_damage_is_refused():
    with pytest.raises(SlideRejected, match="JPEG XR") as caught:
        open_slide(open_local_source(shared_slide(f"{ODD}jpegxr.u1.tif")), choice=Choice(picture=1))
    assert caught.value.reason is RejectReason.UNSUPPORTED_COMPRESSION


def test_masks_are_not_levels():
    path = shared_slide("odd-tiff/rasterio.cogeo.tif")
    assert largest_difference(path, tifffile_pages=(0, 2, 3, 4, 5, 6, 7)) == 0


LOSSLESS = [None, "packbits", "lzw", "zlib", OLD_DEFLATE, "zstd"]


@pytest.mark.parametrize("compression", LOSSLESS)
@pytest.mark.parametrize("planes", [False, True], ids=["contiguous", "planes"])
@pytest.mark.parametrize("byte_order", ["<", ">"])
def test_every_lossless_packing_is_exact(tmp_path: Path, compression: Any, planes: bool, byte_order: str):
    pixels = np.moveaxis(tissue(), 2, 0) if planes else tissue()
    how: dict[str, Any] = {"planarconfig": "separate"} if planes else {}
    how |= {"predictor": True} if compression in ("lzw", "zlib", "zstd") else {}
    how |= {"byte_order": byte_order, "big": byte_order == ">"}  # OpenSlide does not open a classic TIFF of that order.
    path = write_tiled(tmp_path / "a.tif", pixels, photometric="rgb", compression=compression, **how)
    np.testing.assert_array_equal(read_level(open_slide(open_local_source(path)), 0), tissue())
    assert largest_difference(path) == 0


@pytest.mark.parametrize("compression", ["lzma", "webp", "jpeg2000", "png", "lerc", 34926])
def test_packings_of_other_readers_are_exact(tmp_path: Path, compression: Any):
    path = write_tiled(tmp_path / "a.tif", tissue(), photometric="rgb", compression=compression)
    assert largest_difference(path, tifffile_pages=(0,)) == 0


@pytest.mark.parametrize("compression", ["zlib", "jpeg"])
@pytest.mark.parametrize("photometric", ["minisblack", "miniswhite"])
def test_grey_slides_equal_openslide(tmp_path: Path, compression: str, photometric: str):
    path = write_tiled(tmp_path / "a.tif", tissue(1), photometric=photometric, compression=compression)
    assert largest_difference(path) == 0


@pytest.mark.parametrize(
    ("samples", "extra"),
    [(4, "unassalpha"), (4, "assocalpha"), (4, "unspecified"), (2, "assocalpha"), (2, "unspecified")],
)
def test_alpha_lies_on_white_as_openslide_has_it(tmp_path: Path, samples: int, extra: str):
    pixels = tissue(samples)[:144, :192]  # Whole tiles: libtiff tears those of grey and alpha that are cut.
    if extra == "assocalpha" or (samples, extra) == (4, "unspecified"):  # Multiplied already: at most its alpha.
        pixels = np.minimum(pixels, pixels[..., -1:])
    photometric = "rgb" if samples == 4 else "minisblack"
    path = write_tiled(
        tmp_path / "a.tif", pixels, photometric=photometric, extrasamples=[extra], compression="zlib", predictor=True
    )
    assert largest_difference(path) <= 1


def test_alpha_that_is_not_multiplied_into_grey_is_multiplied_here(tmp_path: Path):
    """libtiff forgets it, and OpenSlide's colours overflow."""
    pixels = tissue(2)
    path = write_tiled(tmp_path / "a.tif", pixels, photometric="minisblack", extrasamples=["unassalpha"])
    grey, alpha = (pixels[..., number].astype(float) for number in (0, 1))
    found = read_level(open_slide(open_local_source(path)), 0)
    assert np.abs(found - (grey * alpha / 255 + 255 - alpha)[..., None]).max() <= 0.51


@pytest.mark.parametrize(
    ("pixels", "how", "reason", "words"),
    [
        (np.zeros(SHAPE, np.uint16), {}, RejectReason.BIT_DEPTH, "16 bits"),
        (np.zeros(SHAPE, np.int8), {}, RejectReason.BIT_DEPTH, "signed samples of 8 bits"),
        (np.zeros((*SHAPE, 3), np.float32), {"photometric": "rgb"}, RejectReason.BIT_DEPTH, "floating-point"),
        (np.zeros(SHAPE, bool), {}, RejectReason.BIT_DEPTH, "1 bits"),
        (np.zeros((*SHAPE, 5), np.uint8), {"planarconfig": "contig"}, RejectReason.FLUORESCENCE, "5 channels"),
        (np.zeros((*SHAPE, 3), np.uint8), {"planarconfig": "contig"}, RejectReason.FLUORESCENCE, "3 channels"),
        (np.zeros((*SHAPE, 4), np.uint8), {"photometric": "separated"}, RejectReason.UNSUPPORTED_PIXELS, "CMYK"),
        (
            np.zeros(SHAPE, np.uint8),
            {"photometric": "palette", "colormap": np.zeros((3, 256), np.uint16)},
            RejectReason.UNSUPPORTED_PIXELS,
            "palette",
        ),
        (
            np.zeros((*SHAPE, 3), np.uint8),
            {"photometric": "rgb", "compression": 50002},
            RejectReason.UNSUPPORTED_COMPRESSION,
            "compression 50002 (JPEG XL)",
        ),
    ],
    ids=["16", "int8", "float", "1", "5-channels", "3-grey", "cmyk", "palette", "jpegxl"],
)
def test_other_pixels_are_refused_with_their_reason(
    tmp_path: Path, pixels: NDArray[Any], how: dict[str, Any], reason: RejectReason, words: str
):
    path = write_tiled(tmp_path / "a.tif", pixels, **{"photometric": "minisblack", **how})
    with pytest.raises(SlideRejected) as caught:
        open_slide(open_local_source(path))
    assert (caught.value.reason, words in caught.value.sentence) == (reason, True)


@pytest.mark.parametrize(
    ("tag", "value", "reason", "words"),
    [
        (259, 32_000, RejectReason.UNSUPPORTED_COMPRESSION, "compression 32000,"),
        (262, 4, RejectReason.UNSUPPORTED_PIXELS, "a mask"),
        (262, 6, RejectReason.UNSUPPORTED_PIXELS, "YCbCr"),
        (317, 3, RejectReason.UNSUPPORTED_COMPRESSION, "predictor 3"),
        (274, 3, RejectReason.UNSUPPORTED_PIXELS, "turned or mirrored"),
    ],
)
def test_tags_that_are_not_followed_are_refused(tmp_path: Path, tag: int, value: int, reason: RejectReason, words: str):
    path = write_tiled(
        tmp_path / "a.tif",
        tissue(),
        photometric="rgb",
        compression="zlib",
        predictor=True,
        extratags=[(274, 3, 1, 1, True)],
    )
    with pytest.raises(SlideRejected) as caught:
        read_index(CountingSource(change_tag(path, tag, value).read_bytes()))
    assert (caught.value.reason, words in caught.value.sentence) == (reason, True)


def test_bits_in_reverse_are_refused(tmp_path: Path):
    path = write_tiled(tmp_path / "a.tif", tissue(1), photometric="minisblack")
    renamed = change_tag(path, 296, 2).read_bytes().replace(struct.pack("<HH", 296, 3), struct.pack("<HH", 266, 3))
    with pytest.raises(SlideRejected, match="FillOrder"):
        read_index(CountingSource(renamed))


@pytest.mark.parametrize(
    "name",
    ["odd-tiff/large_image.yb10kx5k.zstd.tiff", "real/aperio-jp2k33005-frozen-nompp-icc.TCGA-CR-7395-01A-01-TS1.svs"],
)
def test_tiles_of_a_large_slide_equal_openslide(name: str):
    """Some of each level: all of the ZSTD slide take a minute, of the JPEG 2000 one ten seconds."""
    path = shared_slide(name)
    reader = open_slide(open_local_source(path))
    assert reader.inspection.reading_path == "native"
    with OpenSlide(path) as slide:
        assert [(info.width, info.height) for info in reader.inspection.levels] == list(slide.level_dimensions)
        for level, info in enumerate(reader.inspection.levels):
            columns, rows = -(-info.width // info.tile_width), -(-info.height // info.tile_height)
            for tile in reader.read_tiles(level, sorted({0, columns // 2, columns * rows - 1})):
                row, column = divmod(tile.index, columns)
                x, y = column * info.tile_width, row * info.tile_height
                size = (min(info.tile_width, info.width - x), min(info.tile_height, info.height - y))
                factor = slide.level_downsamples[level]
                if (x * factor) % 1 or (y * factor) % 1:
                    continue  # OpenSlide resamples there.
                truth = np.asarray(slide.read_region((round(x * factor), round(y * factor)), level, size))[..., :3]
                np.testing.assert_array_equal(reader.decode(tile)[: size[1], : size[0]], truth)


@pytest.mark.parametrize("name", ["large_image.test_orient3.tif", "large_image.test_orient8.tif"])
def test_a_real_turned_picture_is_refused_and_not_torn_apart(name: str):
    with pytest.raises(SlideRejected, match="turned") as caught:
        open_slide(open_local_source(shared_slide(f"odd-tiff/{name}")))
    assert caught.value.reason is RejectReason.UNSUPPORTED_PIXELS


def test_a_colour_profile_is_recorded(tmp_path: Path):
    plain = write_tiled(tmp_path / "a.tif", tissue(), photometric="rgb")
    with_profile = write_tiled(tmp_path / "b.tif", tissue(), photometric="rgb", iccprofile=bytes(200))
    found = [open_slide(open_local_source(path)) for path in (plain, with_profile)]
    assert [reader.inspection.icc for reader in found] == [False, True]
    np.testing.assert_array_equal(read_level(found[0], 0), read_level(found[1], 0))


def early_directories(tmp_path: Path) -> tuple[bytes, int]:
    """A TIFF whose directory lies before its tiles, and where these begin."""
    path = write_pyramid_tiff(tmp_path / "a.tif", width=2000, height=1500, levels=(1,))
    with tifffile.TiffFile(path) as file:
        assert file.pages.first.offset < min(file.pages.first.dataoffsets)
        return path.read_bytes(), min(file.pages.first.dataoffsets)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 1])
def test_a_file_that_ends_within_its_tiles_is_truncated(tmp_path: Path, share: float):
    data, start = early_directories(tmp_path)
    cut = min(round(start + share * (len(data) - start)), len(data) - 1)
    with pytest.raises(SlideRejected) as caught:
        read_index(CountingSource(data[:cut]))
    assert caught.value.reason is RejectReason.TRUNCATED
    assert "ends before its last tiles" in caught.value.sentence


def test_one_tile_far_past_the_end_is_unreadable_alone(tmp_path: Path):
    path = write_pyramid_tiff(tmp_path / "a.tif", width=2000, height=1500, levels=(1,))
    with tifffile.TiffFile(path) as file:
        place = file.pages.first.tags[324].valueoffset

    def change(data: bytearray) -> None:
        data[place : place + 4] = (2**31).to_bytes(4, "little")

    reader = open_slide(open_local_source(damage(path, change)))
    first, *others = sorted(reader.read_tiles(0, range(48)), key=lambda tile: tile.index)
    with pytest.raises(TileUnreadable, match="past the end"):
        reader.decode(first)
    assert all(reader.decode(tile).shape == (256, 256, 3) for tile in others)


@pytest.mark.parametrize("codec", ["jpeg", "jpeg2000"])
def test_tiles_that_claim_to_be_enormous_are_unreadable_alone(tmp_path: Path, codec: Literal["jpeg", "jpeg2000"]):
    reader = open_slide(open_local_source(write_bomb(tmp_path / "a.svs", codec, spared=4)))
    for tile in reader.read_tiles(0, range(16)):
        if tile.index < 4:
            assert reader.decode(tile).shape == (240, 240, 3)
        else:
            with pytest.raises(TileUnreadable, match="claims"):
                reader.decode(tile)


def test_a_million_tiles_are_checked_in_a_moment():
    tiles = 1_000_000
    sizes = np.full(tiles, 10_000, np.int64)
    offsets = np.cumsum(sizes)
    info = LevelInfo(width=256_000, height=256_000, downsample=1, tile_width=256, tile_height=256)
    level = LevelIndex(info, Coding(codec=Codec.JPEG, colour=Colour.RGB), TileExtents.of_single_pieces(offsets, sizes))
    with count_calls() as count:
        check_tail([level], int(offsets[-1] + sizes[-1]))
        with pytest.raises(SlideRejected):
            check_tail([level], int(offsets[-1]))
    assert count.calls < 1_000
