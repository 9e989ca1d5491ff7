"""DICOM around its elements: header and tail, tables, icons, frames and optical paths."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import numpy as np
import pydicom
import pytest
from PIL import Image
from pydicom import Dataset
from pydicom.encaps import encapsulate, generate_frames

from tests.shared_slides import shared_slide
from tests.slides.dicoms import (
    Writing,
    tissue,
    write_picture,
    write_pyramid,
)
from tests.slides.identified import SAID, identifying_elements
from tests.wsi.slide.deidentification.dicom_results import MARK, WORD, bytes_of, cleaned, dataset_of, refused
from wsi.errors import RejectReason
from wsi.records.slides import Choice


def test_what_lies_before_and_behind_the_data_is_gone(tmp_path: Path):
    path = write_picture(tmp_path / "a.dcm", tissue(128, 128))
    dataset = pydicom.dcmread(path)
    dataset.file_meta.SourceApplicationEntityTitle = SAID
    dataset.file_meta.ImplementationVersionName = SAID
    dataset.file_meta.PrivateInformationCreatorUID = "1.2.4711"
    dataset.file_meta.PrivateInformation = SAID.encode()
    dataset.save_as(path)
    data = path.read_bytes()
    padding = b"\xfc\xff\xfc\xffOB\0\0" + (20).to_bytes(4, "little") + SAID.encode().ljust(20)
    path.write_bytes(SAID.encode().ljust(128) + data[128:] + padding + SAID.encode())
    after = bytes_of(cleaned(path))
    assert after[:128] == bytes(128)
    assert SAID.encode() not in after
    meta = pydicom.dcmread(tmp_path / "a.dcm").file_meta
    again = dataset_of(cleaned(path), tmp_path).file_meta
    assert again.TransferSyntaxUID == meta.TransferSyntaxUID
    assert "PrivateInformation" not in again
    assert again.ImplementationVersionName == "TESSERA"


def test_hidden_bytes_of_headers_go(tmp_path: Path):
    """Two unused bytes behind a representation, the length of a delimiter, group lengths, an unused table."""
    how = Writing(delimited=True, more=identifying_elements())
    path = write_picture(tmp_path / "a.dcm", tissue(64, 64), how)
    data = bytearray(path.read_bytes())
    for pattern, skip in ((b"\x48\0\x05\x01SQ", 6), (b"\xe0\x7f\x10\0OB", 6)):
        at = data.index(pattern) + skip
        data[at : at + 2] = b"ZQ"
    at = data.index(b"\xfe\xff\x0d\xe0\0\0\0\0") + 4
    data[at : at + 4] = b"ZQXJ"
    at = data.index(b"\x08\0\x08\0CS")
    data[at:at] = b"\x08\0\0\0UL\x04\0" + b"ZQXJ"
    path.write_bytes(data)
    after = bytes_of(cleaned(path))
    assert b"ZQ" not in after
    assert pydicom.dcmread(tmp_path / "a.dcm", force=True)
    assert dataset_of(cleaned(path), tmp_path).Rows == 64


@pytest.mark.parametrize("table", ["basic", "extended", "none"])
def test_frames_keep_their_bytes_under_every_table(tmp_path: Path, table: str):
    path = write_picture(tmp_path / "a.dcm", tissue(192, 128), Writing(table=table))
    after = dataset_of(cleaned(path), tmp_path)
    before = pydicom.dcmread(path)
    assert after.PixelData == before.PixelData
    assert ("ExtendedOffsetTable" in after) == (table == "extended")


@pytest.mark.parametrize("fragments", [1, 2])
def test_a_comment_in_a_frame_goes_and_its_pixels_stay(tmp_path: Path, fragments: int):
    path = write_picture(tmp_path / "a.dcm", tissue(128, 128))
    dataset = pydicom.dcmread(path)
    frames = [
        frame[:2] + b"\xff\xfe\0\x08" + WORD.encode() + frame[2:]
        for frame in generate_frames(dataset.PixelData, number_of_frames=4)
    ]
    dataset.PixelData = encapsulate(frames, fragments_per_frame=fragments)
    dataset.save_as(path)
    assert len(MARK.findall(path.read_bytes())) == 4
    after = dataset_of(cleaned(path), tmp_path)
    assert not MARK.search((tmp_path / "after-0.dcm").read_bytes())
    left = list(generate_frames(after.PixelData, number_of_frames=4))
    for one, other in zip(frames, left, strict=True):
        assert np.array_equal(*(np.asarray(Image.open(io.BytesIO(frame))) for frame in (one, other)))


def test_a_table_that_says_something_else_than_places_goes(tmp_path: Path):
    path = write_picture(tmp_path / "a.dcm", tissue(128, 64), Writing(table="none"))
    dataset = pydicom.dcmread(path)
    dataset.ExtendedOffsetTable = WORD.encode().ljust(16)
    dataset.save_as(path)
    assert not MARK.search(bytes_of(cleaned(path)))


def test_an_icon_and_overlays_and_curves_go(tmp_path: Path):
    path = write_picture(tmp_path / "a.dcm", tissue(64, 64))
    dataset = pydicom.dcmread(path)
    icon = Dataset()
    icon.Rows = icon.Columns = 8
    icon.PixelData = WORD.encode().ljust(64)
    icon["PixelData"].VR = "OB"
    dataset.IconImageSequence = [icon]
    dataset.add_new(0x60000022, "LO", WORD)
    dataset.add_new(0x60003000, "OW", WORD.encode())
    dataset.add_new(0x50003000, "OW", WORD.encode())
    dataset.save_as(path)
    assert MARK.search(path.read_bytes())
    assert not MARK.search(bytes_of(cleaned(path)))


@pytest.mark.parametrize("element", ["BurnedInAnnotation", "SpecimenLabelInImage"])
def test_what_is_part_of_the_pixels_is_refused(element: str, tmp_path: Path):
    said = write_picture(tmp_path / "a.dcm", tissue(64, 64), Writing(more={element: "YES"}))
    assert refused(said).reason is RejectReason.CAN_NOT_DEIDENTIFY
    silent = write_picture(tmp_path / "a.dcm", tissue(64, 64), Writing(more={element: "NO"}))
    assert dataset_of(cleaned(silent), tmp_path)[element].value == "NO"


# --- optical paths and frames


def test_frames_that_nobody_reads_do_not_end_the_walk(tmp_path: Path):
    """Only the first of two optical paths is chosen; what lies behind the last frame goes all the same."""
    how = Writing(paths=2, dark=(2,), sparse=True, more=identifying_elements(), table="none")
    path = write_picture(tmp_path / "a.dcm", tissue(192, 128), how, tissue(192, 128, seed=1))
    assert SAID.encode() not in bytes_of(cleaned(path, Choice(optical_path="1")))


def test_an_optical_path_named_by_a_text_gets_a_number(tmp_path: Path):
    folder = tmp_path / "series"
    folder.mkdir()
    for path in write_pyramid(folder, tissue(256, 192), 2, Writing(sparse=True)):
        dataset = pydicom.dcmread(path)
        dataset.OpticalPathSequence[0].OpticalPathIdentifier = WORD
        for group in dataset.PerFrameFunctionalGroupsSequence:
            group.OpticalPathIdentificationSequence[0].OpticalPathIdentifier = WORD
        dataset.save_as(path)
    slide = cleaned(folder)
    for file in (0, 1):
        after = dataset_of(slide, tmp_path, file)
        assert after.OpticalPathSequence[0].OpticalPathIdentifier == "1"
        groups = after.PerFrameFunctionalGroupsSequence
        named = {group.OpticalPathIdentificationSequence[0].OpticalPathIdentifier for group in groups}
        assert named == {"1"}
    assert not any(MARK.search(bytes_of(slide, file)) for file in (0, 1))


def test_what_is_said_of_each_frame_goes(tmp_path: Path):
    path = write_picture(tmp_path / "a.dcm", tissue(192, 128), Writing(sparse=True))
    dataset = pydicom.dcmread(path)
    for number, group in enumerate(dataset.PerFrameFunctionalGroupsSequence):
        content = Dataset()
        content.FrameAcquisitionDateTime = "19450417101112"
        content.FrameComments = WORD * (1 + number % 3)
        content.DimensionIndexValues = [1, number + 1]
        group.FrameContentSequence = [content]
    dataset.save_as(path)
    after = dataset_of(cleaned(path), tmp_path)
    assert not MARK.search(bytes_of(cleaned(path)))
    values = [
        list(group.FrameContentSequence[0].DimensionIndexValues) for group in after.PerFrameFunctionalGroupsSequence
    ]
    assert values == [[1, number + 1] for number in range(6)]


@pytest.mark.parametrize("name", ["dicom/openslide-boxes", "dicom/camelyon-jpeg-lowpower", "dicom/highdicom-sm-image"])
def test_real_files_say_nothing_afterwards_but_what_a_list_names(name: str, tmp_path: Path):
    """Of every text that is left, the standard or this list is the author."""
    slide = cleaned(shared_slide(name))
    said: Counter[str] = Counter()
    for file in range(len(slide.files)):
        for element in dataset_of(slide, tmp_path, file).iterall():
            if element.VR in ("LO", "LT", "SH", "ST", "PN", "UC", "UT", "AE") and element.value:
                said[f"{element.keyword}={element.value}"] += 1
    allowed = ("Cod", "Deidentification", "OpticalPathIdentifier=", "Manufacturer")
    left = [text for text in said if not text.startswith(allowed) and not text.endswith("=REMOVED")]
    assert set(left) <= {"PositionReferenceIndicator=SLIDE_CORNER"}
