"""DICOM series: which files and frames make the levels, where their bytes lie, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from openslide import OpenSlide
from pydicom import Dataset

from tests.shared_slides import shared_slide
from tests.slides.dicoms import (
    EXPLICIT,
    IMPLICIT,
    JPEG,
    JPEG_2000,
    JPEG_2000_LOSSY,
    PATIENT,
    SERIES,
    Pixels,
    Writing,
    frame_groups,
    tissue,
    write_picture,
)
from tests.wsi.slide.sources import CountingSource, oracle_level, read_level
from wsi.errors import RejectReason, SlideRejected, TileUnreadable
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.slide import WHITE, SlideReader

LOSSLESS = Writing(syntax=JPEG_2000, photometric="YBR_RCT")
NATIVE = Writing(syntax=EXPLICIT, photometric="RGB")


@pytest.fixture(scope="module")
def picture() -> Pixels:
    return tissue(230, 150)  # 4 x 3 tiles of 64, with edges


def counted(paths: list[Path]) -> SlideSource:
    """A series that lies nowhere on this disk."""
    return SlideSource(files=tuple((path.name, CountingSource(path.read_bytes())) for path in paths))


def opened(*paths: Path) -> SlideReader:
    return open_slide(counted(list(paths)))


def rejected(*paths: Path) -> SlideRejected:
    with pytest.raises(SlideRejected) as caught:
        opened(*paths)
    sentence = caught.value.sentence
    assert sentence.endswith(".")
    assert SERIES not in sentence
    assert PATIENT not in sentence
    return caught.value


@pytest.mark.parametrize(
    "name",
    [
        "dicom/camelyon-jpeg-lowpower",
        "dicom/highdicom-sm-image",
        "dicom/openslide-boxes",
        "dicom/uncompressed-nontissue",
        "derived/cmu-small-region-dicom",
    ],
)
def test_every_level_of_a_real_series_equals_openslide(name: str):
    folder = shared_slide(name)
    reader = open_slide(open_local_source(folder))
    found = reader.inspection
    assert (found.format, found.reading_path, found.mpp_source) == ("dicom", "native", "dicom")
    first = min(folder.iterdir())
    with OpenSlide(first) as slide:
        assert [(info.width, info.height) for info in found.levels] == list(slide.level_dimensions)
        assert [info.downsample for info in found.levels] == pytest.approx(slide.level_downsamples)
        stated = [float(slide.properties[f"openslide.mpp-{axis}"]) for axis in "xy"]
        assert [found.mpp_x, found.mpp_y] == pytest.approx(stated)
        assert found.icc == (slide.color_profile is not None)
    for level in range(len(found.levels)):
        np.testing.assert_array_equal(read_level(reader, level), oracle_level(first, level))


@pytest.mark.parametrize(
    "how",
    [
        LOSSLESS,
        replace(LOSSLESS, photometric="RGB"),
        replace(LOSSLESS, table="extended"),
        replace(LOSSLESS, table="none"),
        replace(LOSSLESS, fragments=2),
        replace(LOSSLESS, fragments=3, table="none"),
        NATIVE,
        replace(NATIVE, by_plane=True),
        replace(NATIVE, syntax=IMPLICIT),
        replace(NATIVE, tile=256),
        replace(NATIVE, sparse=True),
        replace(NATIVE, sparse=True, syntax=IMPLICIT, tiles=[7, 3, 11, 0, 1, 2, 4, 5, 6, 8, 9, 10]),
        replace(LOSSLESS, sparse=True, fragments=2, tiles=[11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
    ],
    ids=str,
)
def test_what_was_written_without_loss_is_read_as_it_was(tmp_path: Path, picture: Pixels, how: Writing):
    reader = opened(write_picture(tmp_path / "a.dcm", picture, how))
    assert reader.inspection.warnings == ()
    np.testing.assert_array_equal(read_level(reader, 0), picture)


def test_grey_slides_have_three_equal_samples(tmp_path: Path, picture: Pixels):
    grey = picture[..., 0].copy()
    for how in (replace(NATIVE, photometric="MONOCHROME2"), Writing(photometric="MONOCHROME2")):
        level = read_level(opened(write_picture(tmp_path / "a.dcm", grey, how)), 0)
        assert (level == level[..., :1]).all()
        assert np.abs(level[..., 0].astype(int) - grey).max() <= (40 if how.syntax == JPEG else 0)


@pytest.mark.parametrize(
    "how",
    [
        Writing(),
        Writing(adobe_rgb=True),
        Writing(table="none"),
        Writing(table="extended"),
        Writing(sparse=True),
        LOSSLESS,
        Writing(syntax=JPEG_2000_LOSSY, photometric="YBR_ICT"),
        NATIVE,
    ],
    ids=str,
)
def test_frames_equal_openslide_whatever_their_markers_say(tmp_path: Path, picture: Pixels, how: Writing):
    path = write_picture(tmp_path / "a.dcm", picture, how)
    level = read_level(opened(path), 0)
    np.testing.assert_array_equal(level, oracle_level(path, 0))
    assert np.abs(level.astype(int) - picture).mean() < 6


def test_ybr_full_is_ybr_full_422(tmp_path: Path, picture: Pixels):
    """OpenSlide refuses the name; the JPEG says itself how its colours are sampled."""
    one, other = (
        opened(write_picture(tmp_path / f"{name}.dcm", picture, Writing(photometric=name)))
        for name in ("YBR_FULL", "YBR_FULL_422")
    )
    np.testing.assert_array_equal(read_level(one, 0), read_level(other, 0))


@pytest.mark.parametrize("fragments", [2, 3])
@pytest.mark.parametrize("table", ["basic", "none"])
def test_jpeg_frames_in_fragments_are_joined(tmp_path: Path, picture: Pixels, fragments: int, table: str):
    whole = opened(write_picture(tmp_path / "a.dcm", picture))
    cut = opened(write_picture(tmp_path / "b.dcm", picture, Writing(fragments=fragments, table=table)))
    np.testing.assert_array_equal(read_level(cut, 0), read_level(whole, 0))


@pytest.mark.parametrize("how", [Writing(), LOSSLESS], ids=str)
@pytest.mark.parametrize("table", ["basic", "none"])
def test_single_frames_in_two_items_are_joined(tmp_path: Path, picture: Pixels, how: Writing, table: str):
    """A writer that cuts what is too large for one item cuts some frames and not others."""
    how = replace(how, table=table)
    whole = opened(write_picture(tmp_path / "a.dcm", picture, how))
    cut = opened(write_picture(tmp_path / "b.dcm", picture, replace(how, cut=(5, 6))))
    np.testing.assert_array_equal(read_level(cut, 0), read_level(whole, 0))


def test_a_table_that_leads_to_something_else_makes_tiles_unreadable(tmp_path: Path, picture: Pixels):
    path = write_picture(tmp_path / "a.dcm", picture, Writing(table="basic"))
    data = bytearray(path.read_bytes())
    table = data.index(bytes.fromhex("feff00e030000000")) + 8
    for at in (table + 4, table + 8):  # the second and the third frame
        data[at : at + 4] = (int.from_bytes(data[at : at + 4], "little") + 2).to_bytes(4, "little")
    path.write_bytes(data)
    reader = opened(path)
    said: dict[int, str] = {}
    for tile in reader.read_tiles(0, range(12)):
        try:
            reader.decode(tile)
        except TileUnreadable as error:
            said[tile.index] = error.sentence
    assert said == dict.fromkeys(range(3), "something else than a frame lies at its place in the file")


def test_places_that_were_not_scanned_are_glass(tmp_path: Path, picture: Pixels):
    kept = [10, 1, 6]
    reader = opened(write_picture(tmp_path / "a.dcm", picture, replace(NATIVE, sparse=True, tiles=kept)))
    found = read_level(reader, 0)
    expected = np.full_like(picture, WHITE)
    for tile in kept:
        y, x = (side * 64 for side in divmod(tile, 4))
        expected[y : y + 64, x : x + 64] = picture[y : y + 64, x : x + 64]
    np.testing.assert_array_equal(found, expected)
    again = open_slide(counted([tmp_path / "a.dcm"]), index=reader.serialize_index())
    np.testing.assert_array_equal(read_level(again, 0), expected)


def test_pixel_spacing_is_rows_first(tmp_path: Path, picture: Pixels):
    path = write_picture(tmp_path / "a.dcm", picture, Writing(spacing=(0.0005, 0.00025)))
    found = opened(path).inspection
    assert (found.mpp_x, found.mpp_y) == pytest.approx((0.25, 0.5))
    with OpenSlide(path) as slide:
        assert float(slide.properties["openslide.mpp-x"]) == pytest.approx(0.25)


def test_a_series_without_a_scale_opens_and_takes_the_users(tmp_path: Path, picture: Pixels):
    path = write_picture(tmp_path / "a.dcm", picture, Writing(spacing=None))
    assert opened(path).inspection.mpp_x is None
    assert open_slide(counted([path]), mpp=0.3).inspection.mpp_y == 0.3


def test_levels_whose_scales_are_off_by_a_unit_are_a_conflict(tmp_path: Path):
    base = tissue(1024, 512)
    how = Writing(tile=256)
    paths = [
        write_picture(tmp_path / "0.dcm", base, how),
        write_picture(tmp_path / "1.dcm", base[::2, ::2].copy(), replace(how, spacing=(0.01, 0.01))),
    ]
    assert "dicom level 1" in (opened(*paths).inspection.mpp_conflict or "")


def halves(folder: Path, picture: Pixels, how: Writing, total: int | None = 2) -> list[Path]:
    first = write_picture(folder / "a.dcm", picture, replace(how, tiles=range(7), part=(1, total, 0)))
    return [first, write_picture(folder / "b.dcm", picture, replace(how, tiles=range(7, 12), part=(2, total, 7)))]


@pytest.mark.parametrize("how", [LOSSLESS, NATIVE, replace(NATIVE, sparse=True)], ids=str)
@pytest.mark.parametrize("total", [2, None])
def test_the_parts_of_a_concatenation_are_one_level(tmp_path: Path, picture: Pixels, how: Writing, total: int | None):
    first, second = halves(tmp_path, picture, how, total)
    for paths in ((first, second), (second, first)):
        reader = opened(*paths)
        np.testing.assert_array_equal(read_level(reader, 0), picture)
        again = open_slide(counted(list(paths)), index=reader.serialize_index())
        np.testing.assert_array_equal(read_level(again, 0), picture)


@pytest.mark.parametrize("how", [LOSSLESS, replace(NATIVE, sparse=True)], ids=str)
@pytest.mark.parametrize("total", [2, None])
def test_a_part_that_did_not_come_is_missed(tmp_path: Path, picture: Pixels, how: Writing, total: int | None):
    for path in halves(tmp_path, picture, how, total):
        assert rejected(path).reason is RejectReason.MISSING_FILES


def test_parts_that_do_not_follow_each_other_are_refused(tmp_path: Path, picture: Pixels):
    first, second = halves(tmp_path, picture, LOSSLESS)
    write_picture(second, picture, replace(LOSSLESS, tiles=range(7, 12), part=(2, 2, 6)))
    assert rejected(first, second).reason is RejectReason.DAMAGED
    assert rejected(first, second, first).reason is RejectReason.DAMAGED


@pytest.mark.parametrize(
    ("how", "reason", "words"),
    [
        (Writing(paths=2), RejectReason.OPTICAL_PATHS, "choose one of optical paths 1, 2 (`optical_path`)"),
        (Writing(paths=2, sparse=True), RejectReason.OPTICAL_PATHS, "choose one of optical paths 1, 2 (`"),
        (Writing(paths=2, planes=3), RejectReason.OPTICAL_PATHS, "2 optical paths and 3 planes of focus"),
        (Writing(illumination="111743"), RejectReason.FLUORESCENCE, "a picture in fluorescence"),
        (Writing(illumination="111743", paths=3), RejectReason.FLUORESCENCE, "3 optical paths, all in fluorescence"),
        (Writing(planes=3), RejectReason.Z_STACK, "choose one of planes 1 to 3, from the glass upwards"),
        (Writing(planes=3, more={"TotalPixelMatrixFocalPlanes": 1}), RejectReason.Z_STACK, "3 planes"),
        (Writing(planes=3, sparse=True, more={"TotalPixelMatrixFocalPlanes": 1}), RejectReason.Z_STACK, "3 planes"),
        (Writing(more={"BitsAllocated": 16, "BitsStored": 12}), RejectReason.BIT_DEPTH, "12 bits"),
        (Writing(more={"PixelRepresentation": 1}), RejectReason.BIT_DEPTH, "signed"),
        (Writing(photometric="PALETTE COLOR"), RejectReason.UNSUPPORTED_PIXELS, "export it as RGB"),
        (Writing(photometric="MONOCHROME1", more={"SamplesPerPixel": 1}), RejectReason.UNSUPPORTED_PIXELS, "RGB"),
        (replace(NATIVE, photometric="YBR_FULL_422"), RejectReason.UNSUPPORTED_PIXELS, "RGB"),
        (Writing(kind="LABEL"), RejectReason.MISSING_FILES, "label"),
        (Writing(kind="THUMBNAIL"), RejectReason.MISSING_FILES, "overview"),
        (Writing(more={"Rows": 0}), RejectReason.DAMAGED, "tiles of"),
        (Writing(more={"Columns": 65_535, "Rows": 65_535}), RejectReason.DAMAGED, "tiles of"),
        (Writing(more={"TotalPixelMatrixRows": 2**31 - 1}), RejectReason.CLAIMS_TOO_MUCH, "more than can be read"),
        (Writing(more={"NumberOfFrames": 4_000_000}), RejectReason.DAMAGED, "frames"),
        (Writing(more={"NumberOfFrames": 2**31 - 1}), RejectReason.DAMAGED, "frames"),
        (replace(NATIVE, more={"NumberOfFrames": 13}), RejectReason.DAMAGED, "more than its pixels"),
        (Writing(more={"NumberOfFrames": 11}), RejectReason.DAMAGED, "frames"),
        (Writing(table="extended", more={"ExtendedOffsetTable": bytes(8)}), RejectReason.DAMAGED, "frames"),
        (Writing(tiles=range(11)), RejectReason.DAMAGED, "11 frames where its size needs 12"),
        (Writing(sparse=True, tiles=[0, 1, 1]), RejectReason.DAMAGED, "same place"),
        (Writing(more={"SeriesInstanceUID": None, "SamplesPerPixel": None}), RejectReason.DAMAGED, "laid out"),
        (Writing(more={"Columns": None}), RejectReason.DAMAGED, "laid out"),
        (Writing(more={"OpticalPathSequence": [Dataset()] * 1_001}), RejectReason.DAMAGED, "more than any slide has"),
    ],
    ids=str,
)
def test_what_is_not_one_brightfield_picture_is_refused(
    tmp_path: Path, picture: Pixels, how: Writing, reason: RejectReason, words: str
):
    found = rejected(write_picture(tmp_path / "a.dcm", picture, how))
    assert found.reason is reason
    assert words in found.sentence


@pytest.mark.parametrize(
    ("column", "row", "reason"),
    [
        (2, 1, RejectReason.UNSUPPORTED_FORMAT),
        (1, 33, RejectReason.UNSUPPORTED_FORMAT),
        (0, 1, RejectReason.DAMAGED),
        (1, -63, RejectReason.DAMAGED),
        (257, 1, RejectReason.DAMAGED),
    ],
)
def test_frames_off_the_grid_are_refused(tmp_path: Path, picture: Pixels, column: int, row: int, reason: RejectReason):
    how = replace(NATIVE, sparse=True, tiles=[0, 5])
    groups = frame_groups([(column - 1, row - 1), (64, 64)], how)
    path = write_picture(tmp_path / "a.dcm", picture, replace(how, more={"PerFrameFunctionalGroupsSequence": groups}))
    assert rejected(path).reason is reason
