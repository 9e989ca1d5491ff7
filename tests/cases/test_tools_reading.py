"""Reports on reading slides: edges, odd tiles, odd pyramids, wide slides, tissue that is found or not."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import tifffile
from numpy.typing import NDArray

from tests.cases.reported import reported
from tests.slides import GLASS, encode_tile, he_tissue, write_pyramid_tiff, write_svs
from tests.slides.dicoms import tissue as dicom_tissue
from tests.slides.dicoms import write_pyramid
from tests.slides.mirax import write_mirax
from tests.wsi.plans import inspection, plan, small_card
from wsi.errors import RejectReason, SlideRejected
from wsi.inspection.examination import examine
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import SlideReader

MICRONS = {"resolution": (20_000, 20_000), "resolutionunit": "CENTIMETER"}  # 0.5 um per pixel


def opened(path: Path) -> SlideReader:
    return open_slide(open_local_source(path), mpp=None)


def pixels(path: Path, level: int = 0) -> NDArray[np.uint8]:
    """[height, width, 3] of a whole level."""
    with closing(opened(path)) as reader:
        info = reader.inspection.levels[level]
        across, down = -(-info.width // info.tile_width), -(-info.height // info.tile_height)
        whole = np.zeros((down * info.tile_height, across * info.tile_width, 3), np.uint8)
        for tile in reader.read_tiles(level, range(across * down)):
            y, x = divmod(tile.index, across)
            rows, columns = y * info.tile_height, x * info.tile_width
            whole[rows : rows + info.tile_height, columns : columns + info.tile_width] = reader.decode(tile)
        return whole[: info.height, : info.width]


def refused(path: Path) -> SlideRejected:
    with pytest.raises(SlideRejected) as caught, closing(opened(path)) as reader:
        examine(reader)
    return caught.value


def sizes(path: Path) -> list[tuple[int, int]]:
    with closing(opened(path)) as reader:
        return [(level.width, level.height) for level in reader.inspection.levels]


def write_levels(path: Path, levels: Sequence[NDArray[np.uint8]], **how: object) -> Path:
    with tifffile.TiffWriter(path) as writer:
        for number, level in enumerate(levels):
            writer.write(
                level, tile=(64, 64), metadata=None, software=False, subfiletype=int(number > 0), **MICRONS, **how
            )
    return path


def on_glass(height: int, width: int, box: tuple[int, int, int, int]) -> NDArray[np.uint8]:
    """Glass with tissue in `box` (left, top, right, bottom)."""
    rng = np.random.default_rng(1)
    ground = np.clip(rng.normal(GLASS, 1.2, (height, width, 3)), 0, 255).astype(np.uint8)
    left, top, right, bottom = box
    ground[top:bottom, left:right] = he_tissue(rng, bottom - top, right - left)
    return ground


@reported("TRIDENT#120")
def test_tiles_whose_sides_are_no_multiple_of_sixteen_are_read(tmp_path: Path) -> None:
    wide, high = 62, 74
    rng = np.random.default_rng(0)
    parts = [he_tissue(rng, high, wide) for _ in range(4)]
    with tifffile.TiffWriter(tmp_path / "a.svs") as writer:
        writer.write(
            iter([encode_tile(part, rgb=True, quality=95) for part in parts]),
            shape=(150, 128, 3),
            dtype=np.uint8,
            tile=(80, 64),
            photometric="rgb",
            compression="jpeg",
            compressionargs={"outcolorspace": "RGB"},
            description="Aperio Image Library v12.0.15\r\n|AppMag = 20|MPP = 0.5",
            metadata=None,
        )
    with tifffile.TiffFile(tmp_path / "a.svs", mode="r+") as file:
        tags = file.pages.first.tags
        for name, value in (("TileWidth", wide), ("TileLength", high), ("ImageWidth", 124), ("ImageLength", 148)):
            tags[name].overwrite(value)
    drawn = np.vstack((np.hstack(parts[:2]), np.hstack(parts[2:])))
    assert np.abs(pixels(tmp_path / "a.svs").astype(int) - drawn).mean() < 3


@reported("TRIDENT#41")
@pytest.mark.parametrize(("width", "height"), [(300, 200), (40, 30), (511, 5)])
def test_a_slide_smaller_than_a_tile_is_one_tile(width: int, height: int) -> None:
    made = plan(inspection(width, height))
    assert (made.tiles.tolist(), made.grid.side) == ([[0, 0]] if width <= 256 else [[0, 0], [256, 0]], 256)


@reported("PathML#305", "PathML PR#306")
def test_a_slide_of_whole_tiles_has_no_empty_ones_behind_them() -> None:
    made = plan(inspection(64 * 6, 64 * 4), card=small_card())
    assert (made.grid.columns, made.grid.rows, len(made.tiles)) == (6, 4, 24)


@reported("PathML#276", "PathML PR#184", "enact-pipeline#45")
@pytest.mark.parametrize(("width", "height"), [(1300, 260), (260, 1300)])
def test_width_and_height_are_not_exchanged(tmp_path: Path, width: int, height: int) -> None:
    picture = on_glass(height, width, (width - 90, height - 90, width - 20, height - 20))
    path = write_levels(tmp_path / "a.tif", [picture], compression="deflate", photometric="rgb")
    assert sizes(path) == [(width, height)]
    assert np.array_equal(pixels(path), picture)
    with closing(opened(path)) as reader:
        rows, columns = np.nonzero(examine(reader).mask.pixels)
    assert columns.min() >= width - 100
    assert rows.min() >= height - 100


@reported("LazySlide#179")
def test_what_a_writer_put_behind_the_edge_of_the_slide_is_not_seen(tmp_path: Path) -> None:
    """The last tiles hold tissue where the slide has ended."""
    picture = on_glass(320, 320, (64, 64, 128, 128))
    picture[:, 280:] = he_tissue(np.random.default_rng(3), 320, 40)
    path = write_levels(tmp_path / "a.tif", [picture], compression="deflate", photometric="rgb")
    with tifffile.TiffFile(path, mode="r+") as file:
        file.pages.first.tags["ImageWidth"].overwrite(280)
    assert sizes(path) == [(280, 320)]
    with closing(opened(path)) as reader:
        examined = examine(reader)
    assert np.nonzero(examined.mask.pixels)[1].max() < 140
    assert examined.inspection.tissue_fraction == pytest.approx(64 * 64 / (280 * 320), rel=0.2)


@reported("LazySlide#95", "TRIDENT#60", "histoplus#34")
def test_a_slide_of_one_level_is_read(tmp_path: Path) -> None:
    path = write_pyramid_tiff(tmp_path / "a.tif", width=1500, height=1000, levels=(1,))
    with closing(opened(path)) as reader:
        assert examine(reader).inspection.tissue_fraction == pytest.approx(0.64, abs=0.02)


@reported("TRIDENT#121")
@pytest.mark.parametrize("kept", [1, 33])
def test_the_mask_lies_on_the_tissue_where_levels_are_rounded_down(tmp_path: Path, kept: int) -> None:
    """Up to 3 px are lost at the right and lower edge of the small level, as libtiff's averaging does."""
    height, width = 512 + kept, 1024 + kept
    picture = on_glass(height, width, (800, 350, 950, 450))
    smaller = picture[: height // 4 * 4, : width // 4 * 4].reshape(height // 4, 4, width // 4, 4, 3).mean((1, 3))
    path = write_levels(
        tmp_path / "a.tif", [picture, smaller.astype(np.uint8)], compression="deflate", photometric="rgb"
    )
    assert len(sizes(path)) == 2
    with closing(opened(path)) as reader:
        mask = examine(reader).mask.pixels
    rows, columns = (np.nonzero(mask.any(axis))[0] for axis in (1, 0))
    across, down = width / mask.shape[1], height / mask.shape[0]
    found = (columns[0] * across, rows[0] * down, (columns[-1] + 1) * across, (rows[-1] + 1) * down)
    assert found == pytest.approx((800, 350, 950, 450), abs=8)


@reported("HistoQC#249")
def test_tissue_at_the_far_right_of_a_wide_slide_is_found(tmp_path: Path) -> None:
    path = write_svs(
        tmp_path / "a.svs", width=3600, height=480, tissue=(3120, 120, 3600, 360), levels=(1, 4), associated=False
    )
    with closing(opened(path)) as reader:
        columns = np.nonzero(examine(reader).mask.pixels.any(0))[0]
        width = examine(reader).mask.pixels.shape[1]
    assert columns[0] / width == pytest.approx(3120 / 3600, abs=0.01)
    assert columns[-1] == width - 1


@reported("hover_next_inference#13")
def test_tissue_is_found_without_a_thumbnail_and_the_same_with_one(tmp_path: Path) -> None:
    found = []
    for associated in (True, False):
        path = write_svs(tmp_path / f"{associated}.svs", width=960, height=480, associated=associated, pool=2)
        with closing(opened(path)) as reader:
            found.append(examine(reader).mask.pixels)
    assert np.array_equal(*found)
    assert found[0].any()


@reported("tiatoolbox#933", "tiatoolbox PR#934")
def test_a_dicom_slide_is_the_folder_or_any_of_its_files_also_where_the_folder_is_called_dcm(tmp_path: Path) -> None:
    folder = tmp_path / "scan.dcm"
    folder.mkdir()
    base = dicom_tissue(500, 300)
    files = write_pyramid(folder, base, 3)
    for path in (folder, *files):
        assert sizes(path)[0] == (500, 300)
        assert len(sizes(path)) == 3
    assert np.abs(pixels(folder)[200:, 300:].astype(int) - base[200:300, 300:]).mean() < 8


@reported("BIRL#25", "hs2p PR#4")
def test_pyramids_of_uneven_steps_keep_their_steps(tmp_path: Path) -> None:
    path = write_pyramid_tiff(tmp_path / "a.tif", width=1920, height=960, levels=(1, 3, 12))
    with closing(opened(path)) as reader:
        assert [level.downsample for level in reader.inspection.levels] == pytest.approx([1, 3, 12])


@reported("Cytomine-IMS#32", "FAST-Pathology#106", "caMicroscope#458", "TRIDENT#155")
@pytest.mark.parametrize("ome", [False, True])
def test_a_tiff_of_strips_is_refused_with_the_way_out(tmp_path: Path, ome: bool) -> None:
    tifffile.imwrite(tmp_path / "a.tif", on_glass(300, 400, (50, 50, 100, 100)), ome=ome, photometric="rgb")
    rejected = refused(tmp_path / "a.tif")
    assert rejected.reason is RejectReason.UNSUPPORTED_FORMAT
    assert "tile" in rejected.sentence


@reported("Cytomine-IMS#3")
def test_a_grey_tiled_tiff_is_read_as_grey(tmp_path: Path) -> None:
    picture = on_glass(320, 448, (64, 64, 256, 256))[..., 1]
    path = write_levels(tmp_path / "a.tif", [picture], compression="deflate", photometric="minisblack")
    assert np.array_equal(pixels(path), np.repeat(picture[..., None], 3, axis=2))


@reported("ASAP#179")
def test_a_tiff_made_from_a_png_with_transparency_shows_what_is_seen(tmp_path: Path) -> None:
    picture = on_glass(128, 192, (32, 32, 96, 96))
    alpha = np.full((128, 192, 1), 255, np.uint8)
    alpha[:, 150:] = 0
    path = write_levels(
        tmp_path / "a.tif",
        [np.concatenate((picture, alpha), axis=2)],
        compression="deflate",
        photometric="rgb",
        extrasamples=["unassalpha"],
    )
    shown = pixels(path)
    assert np.array_equal(shown[:, :150], picture[:, :150])
    assert (shown[:, 150:] == 255).all()


@reported("PathML#358", "PathML#324")
def test_an_ome_tiff_is_opened_by_its_path(tmp_path: Path) -> None:
    picture = on_glass(320, 448, (64, 64, 256, 256))
    with tifffile.TiffWriter(tmp_path / "a.ome.tiff", ome=True) as writer:
        said = {"axes": "YXS", "PhysicalSizeX": 0.5, "PhysicalSizeXUnit": "µm"}
        said |= {"PhysicalSizeY": 0.5, "PhysicalSizeYUnit": "µm"}
        writer.write(picture, tile=(64, 64), photometric="rgb", metadata=said)
    assert np.array_equal(pixels(tmp_path / "a.ome.tiff"), picture)


@reported("TRIDENT#57", "TRIDENT#60")
@pytest.mark.parametrize("name", ["a.png", "a.jpg"])
def test_a_plain_image_is_no_slide_and_told_so(tmp_path: Path, name: str) -> None:
    from PIL import Image

    Image.fromarray(on_glass(200, 200, (50, 50, 100, 100))).save(tmp_path / name)
    assert refused(tmp_path / name).reason is RejectReason.NOT_A_SLIDE


@reported("FAST-Pathology#38", "tiatoolbox PR#777", "PathML PR#242")
def test_every_level_shows_the_same_place(tmp_path: Path) -> None:
    picture = on_glass(1024, 1536, (1100, 700, 1400, 900))
    levels = [picture, picture[::2, ::2], picture[::8, ::8]]
    path = write_levels(tmp_path / "a.tif", levels, compression="deflate", photometric="rgb")
    for number, level in enumerate(levels):
        assert np.array_equal(pixels(path, number), level)


@reported("TRIDENT#43", "hover_net#295")
def test_a_mirax_slide_is_read_whole_and_its_data_is_no_slide_of_its_own(tmp_path: Path) -> None:
    picture = dicom_tissue(400, 300)
    path = write_mirax(tmp_path / "a.mrxs", picture)
    with closing(opened(path)) as reader:
        seen = reader.inspection
    assert seen.format == "mrxs"
    assert seen.mpp_x == pytest.approx(0.5)
