"""De-identified slides, held against the originals: OpenSlide, tifffile and pydicom say that they are the same slides,
and no byte says whose they are."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import openslide
import pytest
import tifffile

from tests.shared_slides import shared_slide
from tests.slides.identified import FORMATS, Identified
from wsi.slide.deidentification.clean_slide import CleanSlide
from wsi.slide.deidentification.cleaning import clean
from wsi.slide.deidentification.jpeg_comments import blank_comments
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.ranges import ByteRange

SALT = b"salt of the tests"
REAL = (
    "real/aperio-jpeg-20x.CMU-1-Small-Region.svs",
    "real/aperio-jp2k33005-frozen-nompp-icc.TCGA-CR-7395-01A-01-TS1.svs",
    "real/generic-pyramid-bigtiff-jpeg.CMU-0-small.tiff",
    "derived/cmu-small-region.pyramid-jpeg-ycbcr.tif",
    "derived/cmu-small-region-dicom",
    "dicom/openslide-boxes",
    "dicom/camelyon-jpeg-lowpower",
    "dicom/highdicom-sm-image",
    "dicom/uncompressed-nontissue",
)
#: It takes the label for the slide, and opens neither the one nor the other of the rest.
UNKNOWN_TO_OPENSLIDE = {"ome behind its label", "svs big-endian", "dicom implicit"}


def cleaned(path: Path) -> CleanSlide:
    return clean(open_local_source(path), salt=SALT)


def written(slide: CleanSlide, folder: Path) -> Path:
    """The file that is opened."""
    folder.mkdir()
    for file in slide.files:
        (folder / file.name).write_bytes(file.source.read(ByteRange(0, file.source.size)))
    return folder / slide.files[0].name


@pytest.fixture(params=FORMATS)
def slide(request: pytest.FixtureRequest, tmp_path: Path) -> Identified:
    return FORMATS[request.param](tmp_path)


@pytest.fixture(params=REAL)
def real(request: pytest.FixtureRequest) -> Path:
    return shared_slide(request.param)


def everything(path: Path) -> bytes:
    return b"\n".join(file.read_bytes() for file in sorted(path.rglob("*"))) if path.is_dir() else path.read_bytes()


def opened_file(path: Path) -> Path:
    source = open_local_source(path)
    assert source.local_path is not None
    return source.local_path


def same_for_openslide(before: Path, after: Path) -> None:
    with openslide.OpenSlide(before) as one, openslide.OpenSlide(after) as other:
        assert one.level_dimensions == other.level_dimensions
        assert one.properties.get("openslide.mpp-x") == other.properties.get("openslide.mpp-x")
        assert one.properties["openslide.vendor"] == other.properties["openslide.vendor"]
        assert set(other.associated_images) <= {"thumbnail"}
        for level, size in enumerate(one.level_dimensions):
            pixels = [np.asarray(each.read_region((0, 0), level, size)) for each in (one, other)]
            assert np.array_equal(*pixels)


def bare(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The first tile of an NDPI begins with the header of its level, of which comments go."""
    return tuple(blank_comments(piece) if piece.startswith(b"\xff\xd8\xff\xfe") else piece for piece in pieces)


def same_tiles(before: SlideSource, after: SlideSource) -> None:
    """Byte by byte, as they are asked for."""
    with closing(open_slide(before, mpp=0.5)) as one, closing(open_slide(after, mpp=0.5)) as other:
        for level, info in enumerate(one.inspection.levels):
            tiles = range(-(-info.width // info.tile_width) * -(-info.height // info.tile_height))
            assert {tile.index: bare(tile.pieces) for tile in one.read_tiles(level, tiles)} == {
                tile.index: bare(tile.pieces) for tile in other.read_tiles(level, tiles)
            }


def test_no_identifier_is_left_in_any_byte(slide: Identified, tmp_path: Path) -> None:
    before = everything(slide.path)
    said = [secret for secret in slide.secrets if secret in before]
    assert len(said) >= 4, "the test's own slide says too little"
    clean_slide = cleaned(slide.path)
    written(clean_slide, tmp_path / "clean")
    after = everything(tmp_path / "clean")
    assert [secret for secret in slide.secrets if secret in after] == []
    assert slide.secrets[0].decode() not in "".join(file.name for file in clean_slide.files)


def test_no_piece_of_label_or_macro_is_left(slide: Identified, tmp_path: Path) -> None:
    before = everything(slide.path)
    clean_slide = cleaned(slide.path)
    written(clean_slide, tmp_path / "clean")
    after = everything(tmp_path / "clean")
    for picture in slide.pictures:
        assert picture[:64] in before
        assert not any(picture[at : at + 32] in after for at in range(0, len(picture) - 32, 32))
    assert (clean_slide.removed.images, clean_slide.removed.files) == (slide.images, slide.files)
    assert clean_slide.removed.tags > 0


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - UNKNOWN_TO_OPENSLIDE))
def test_the_slide_is_the_same_for_openslide(name: str, tmp_path: Path) -> None:
    slide = FORMATS[name](tmp_path)
    same_for_openslide(opened_file(slide.path), written(cleaned(slide.path), tmp_path / "clean"))


def test_every_tile_has_the_same_bytes(slide: Identified, tmp_path: Path) -> None:
    after = written(cleaned(slide.path), tmp_path / "clean")
    same_tiles(open_local_source(slide.path), open_local_source(after.parent if after.suffix == ".dcm" else after))


def test_a_real_slide_is_the_same_for_openslide(real: Path, tmp_path: Path) -> None:
    same_for_openslide(opened_file(real), written(cleaned(real), tmp_path / "clean"))


def test_every_tile_of_a_real_slide_has_the_same_bytes(real: Path, tmp_path: Path) -> None:
    after = written(cleaned(real), tmp_path / "clean")
    same_tiles(open_local_source(real), open_local_source(after.parent if after.suffix == ".dcm" else after))


def test_files_keep_their_sizes(slide: Identified, tmp_path: Path) -> None:
    """But for DICOM, whose elements are removed and added."""
    source = open_local_source(slide.path)
    for file in cleaned(slide.path).files:
        before = source.files[file.number][1].size
        assert file.source.size == before if slide.path.is_file() else file.source.size != before


def test_a_clean_slide_is_left_alone(slide: Identified, tmp_path: Path) -> None:
    after = written(cleaned(slide.path), tmp_path / "clean")
    again = cleaned(after.parent if after.suffix == ".dcm" else after)
    assert (again.removed.images, again.removed.files) == (0, 0)
    if after.suffix != ".dcm":  # whose UIDs get others each time
        assert again.removed.tags == 0
        written(again, tmp_path / "again")
        assert everything(tmp_path / "again") == everything(tmp_path / "clean")


def test_the_same_salt_gives_the_same_bytes(slide: Identified, tmp_path: Path) -> None:
    for folder in ("one", "other"):
        written(cleaned(slide.path), tmp_path / folder)
    assert everything(tmp_path / "one") == everything(tmp_path / "other")


def test_tifffile_reads_what_is_left(tmp_path: Path) -> None:
    for name, write in FORMATS.items():
        if name.startswith("dicom"):
            continue
        folder = tmp_path / name
        folder.mkdir()
        before = write(folder).path
        with tifffile.TiffFile(before) as one, tifffile.TiffFile(written(cleaned(before), folder / "clean")) as other:
            pages = {page.dataoffsets[0]: page for page in one.pages}
            for page in other.pages:
                assert np.array_equal(page.asarray(), pages[page.dataoffsets[0]].asarray())
            assert (one.is_svs, one.is_ome, one.is_ndpi) == (other.is_svs, other.is_ome, other.is_ndpi)
            assert (
                other.series[0].shape == next(each for each in one.series if each.shape == other.series[0].shape).shape
            )


def test_the_cmu_slide_keeps_its_thumbnail_and_measures(tmp_path: Path) -> None:
    before = shared_slide(REAL[0])
    slide = cleaned(before)
    after = written(slide, tmp_path / "clean")
    with openslide.OpenSlide(before) as one, openslide.OpenSlide(after) as other:
        assert list(other.associated_images) == ["thumbnail"]
        pictures = [np.asarray(each.associated_images["thumbnail"]) for each in (one, other)]
        assert np.array_equal(*pictures)
        for kept in ("AppMag", "MPP", "Left", "Top", "OriginalWidth", "StripeWidth"):
            assert other.properties[f"aperio.{kept}"] == one.properties[f"aperio.{kept}"]
        gone = {"User", "Date", "Time", "Filename", "ScanScope ID", "ImageID", "Parmset"}
        assert {f"aperio.{name}" for name in gone} <= one.properties.keys()
        assert not {f"aperio.{name}" for name in gone} & other.properties.keys()
        assert openslide.OpenSlide.detect_format(after) == "aperio"
    assert (slide.removed.images, slide.removed.tags) == (2, 16)
