"""MIRAX: no word is left in any file of the folder, and OpenSlide reads the same pixels."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import openslide
import pytest
from PIL import Image

from tests.shared_slides import shared_slide
from tests.slides.identified_mirax import WORD, write_identified_mirax
from tests.slides.mirax import SLIDE_ID
from wsi.errors import RejectReason, SlideRejected
from wsi.slide.deidentification.clean_slide import CleanSlide
from wsi.slide.deidentification.cleaning import clean
from wsi.slide.opening import open_local_source
from wsi.slide.ranges import ByteRange

LAYERS = ("VIMSLIDE_POSITION_BUFFER", "StitchingIntensityLayer", None)


def cleaned(path: Path) -> CleanSlide:
    return clean(open_local_source(path), salt=b"salt")


def written(slide: CleanSlide, folder: Path) -> Path:
    for file in slide.files:
        path = folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.source.read(ByteRange(0, file.source.size)))
    return folder / slide.files[0].name


def refused(path: Path) -> RejectReason:
    with pytest.raises(SlideRejected) as caught:
        cleaned(path)
    return caught.value.reason


@pytest.mark.parametrize("positions", LAYERS)
def test_no_word_and_no_picture_is_left_and_openslide_reads_the_same(tmp_path: Path, positions: str | None):
    slide = write_identified_mirax(tmp_path / "before", positions=positions)
    files = [slide.path, *slide.path.with_suffix("").iterdir()]
    assert all(WORD in file.read_bytes() for file in files if file.name != "Data0002.dat")
    clean_slide = cleaned(slide.path)
    after = written(clean_slide, tmp_path / "after")
    left = {path.relative_to(tmp_path / "after").as_posix(): path.read_bytes() for path in after.parent.rglob("*.*")}
    assert sorted(left) == [
        *("00000.mrxs", "00000/Data0000.dat", "00000/Data0001.dat", "00000/Index.dat", "00000/Slidedat.ini"),
    ]
    everything = b"".join(left.values())
    assert b"ZQXJ" not in everything
    assert SLIDE_ID.encode() not in everything
    for picture in slide.pictures:
        assert not any(picture[at : at + 32] in everything for at in range(0, len(picture) - 32, 32))
    with openslide.OpenSlide(slide.path) as one, openslide.OpenSlide(after) as other:
        assert len(one.associated_images) == 3
        assert not other.associated_images
        assert one.level_dimensions == other.level_dimensions
        for key in ("openslide.mpp-x", "openslide.objective-power", "openslide.vendor"):
            assert one.properties[key] == other.properties[key]
        pixels = [np.asarray(each.read_region((0, 0), 0, each.dimensions)) for each in (one, other)]
        assert np.array_equal(*pixels)
    assert (clean_slide.removed.images, clean_slide.removed.files) == (slide.images, slide.files)


def test_the_cover_is_a_blank_image(tmp_path: Path):
    after = written(cleaned(write_identified_mirax(tmp_path / "before").path), tmp_path / "after")
    assert Image.open(io.BytesIO(after.read_bytes())).size == (1, 1)


def test_a_clean_slide_stays_as_it_is(tmp_path: Path):
    first = written(cleaned(write_identified_mirax(tmp_path / "before").path), tmp_path / "after")
    again = written(cleaned(first), tmp_path / "again")
    for path in first.parent.rglob("*.*"):
        assert path.read_bytes() == (again.parent / path.relative_to(first.parent)).read_bytes()


def test_a_slide_that_cannot_be_cleaned_is_refused(tmp_path: Path):
    path = write_identified_mirax(tmp_path).path
    listed = path.with_suffix("") / "Slidedat.ini"
    text = listed.read_text()
    listed.write_text(text.replace("IMAGE_FORMAT = JPEG", "IMAGE_FORMAT = PNG"))
    assert refused(path) is RejectReason.CAN_NOT_DEIDENTIFY
    listed.write_text(text.replace("FILE_1 = Data0001.dat", "FILE_1 = Data0000.dat"))
    assert refused(path) is RejectReason.CAN_NOT_DEIDENTIFY
    listed.write_text(text.replace("NONHIER_COUNT = 3", "NONHIER_COUNT = x"))
    assert refused(path) is RejectReason.DAMAGED


def test_a_label_that_shares_its_bytes_with_a_tile_is_refused(tmp_path: Path):
    path = write_identified_mirax(tmp_path).path
    index = path.with_suffix("") / "Index.dat"
    data = bytearray(index.read_bytes())
    at = data.rindex(b"\x01\0\0\0" + b"\0" * 12)  # the page of the last record, which are the positions
    first = data.index(b"\x01\0\0\0" + b"\0" * 12)
    assert first < at
    data[first + 24 : first + 28] = bytes(4)  # of the first one: its file
    data[first + 16 : first + 20] = (40).to_bytes(4, "little")
    index.write_bytes(data)
    assert refused(path) is RejectReason.CAN_NOT_DEIDENTIFY


def test_an_index_of_another_slide_is_refused():
    path = shared_slide("broken/mirax-dummy-data/Mirax2-Fluorescence-1.mrxs")
    assert refused(path) is RejectReason.FLUORESCENCE
