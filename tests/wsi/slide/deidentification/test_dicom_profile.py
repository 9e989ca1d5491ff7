"""DICOM against the Basic Application Level Confidentiality Profile (PS3.15, annex E), with pydicom as the reader."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pydicom
import pytest
from PIL import Image
from pydicom import Dataset
from pydicom.datadict import DicomDictionary, dictionary_has_tag
from pydicom.encaps import encapsulate, generate_frames
from pydicom.uid import UID

from tests.shared_slides import shared_slide
from tests.slides.dicoms import (
    IMPLICIT,
    SERIES,
    Writing,
    tissue,
    write_picture,
    write_pyramid,
)
from tests.slides.identified import SAID, add_private, identifying_elements, write_identified_series
from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice
from wsi.slide.deidentification.clean_slide import CleanSlide
from wsi.slide.deidentification.cleaning import clean
from wsi.slide.deidentification.dicom import kept, profile, profile_table
from wsi.slide.deidentification.dicom.values import replace_uids
from wsi.slide.opening import open_local_source
from wsi.slide.ranges import ByteRange

SALT = b"salt"
WORD: Final = "ZQXJKV"  #: in no dictionary
MARK: Final = re.compile(b"ZQXJ|19450417|4711471147|Z\\0Q\\0X\\0J|\\0Z\\0Q\\0X\\0J")
#: Elements by which the fixture's image is found and read.
READ: Final = frozenset(
    {"0028", "7FE0", "5200", "00080005"}  # groups, and what pydicom writes texts by
    | {"00080008", "00080016", "00080018", "00080060", "0020000E", "0020000D", "00209311", "00480006", "00480007"}
    | {"00480105", "00480303", "00209161", "00209162", "00209163", "00209228"}
)


def cleaned(path: Path, choice: Choice | None = None, salt: bytes = SALT) -> CleanSlide:
    return clean(open_local_source(path), choice=choice, salt=salt)


def bytes_of(slide: CleanSlide, file: int = 0) -> bytes:
    source = slide.files[file].source
    return source.read(ByteRange(0, source.size))


def dataset_of(slide: CleanSlide, folder: Path, file: int = 0) -> pydicom.Dataset:
    path = folder / f"after-{file}.dcm"
    path.write_bytes(bytes_of(slide, file))
    return pydicom.dcmread(path)


def refused(path: Path, choice: Choice | None = None) -> SlideRejected:
    with pytest.raises(SlideRejected) as caught:
        cleaned(path, choice)
    return caught.value


def make_marked_value(vr: str) -> Any:
    """A value of the representation that could be somebody's."""
    if vr == "SQ":
        item = Dataset()
        item.PatientComments = WORD
        return [item]
    texts = {"DA": "19450417", "DT": "19450417101112", "TM": "101112", "AS": "041Y", "UI": "1.2.4711471147.5"}
    texts |= {"IS": "4711471147"[:9], "DS": "4711471147"}
    raw = {"US": 0x515A, "SS": 0x515A, "UL": 0x4A58515A, "SL": 0x4A58515A, "UV": 0x4A58515A, "SV": 0x4A58515A}
    if vr in raw:
        return raw[vr]
    if vr in ("FL", "FD"):
        return 4711.0
    if vr == "AT":
        return 0x515A4A58
    return f"{WORD}  ".encode() if vr[0] == "O" or vr == "UN" else texts.get(vr, WORD)


def mark_all(dataset: Dataset) -> int:
    """Set every element of the standard's dictionary that is not there; return their number."""
    marked = 0
    for tag, (vr, _, _, retired, keyword) in DicomDictionary.items():
        digits = f"{tag:08X}"
        if retired or not keyword or digits[:4] in READ | {"0000", "0002", "0004", "FFFE"} or digits in READ:
            continue
        if tag not in dataset:
            dataset.add_new(tag, vr.split(" or ")[0], make_marked_value(vr.split(" or ")[0]))
            marked += 1
    return marked


# --- the table


def test_the_table_has_all_rows_of_its_edition():
    counts = {actions: len(tags.split()) for actions, tags in profile_table.TAGS.items()}
    assert sum(counts.values()) + len(profile_table.REPEATED) + 1 == 621
    listed = [int(tag, 16) for tags in profile_table.TAGS.values() for tag in tags.split()]
    assert len(set(listed)) == len(listed)
    assert counts["D"] == 92
    assert counts["U"] == 54
    assert counts["Z"] == 42
    unknown = [f"{tag:08X}" for tag in listed if not dictionary_has_tag(tag)]
    assert len(unknown) <= 4, unknown  # pydicom's dictionary is of another edition


def test_nothing_stays_that_the_profile_lists():
    assert [f"{tag:08X}" for tag in (*kept.LEAVES, *kept.SEQUENCES, *kept.CODED) if profile.is_listed(tag)] == []


@pytest.mark.parametrize(
    ("keyword", "action"),
    [
        ("PatientName", "EMPTY"),
        ("StudyDate", "EMPTY"),
        ("ContentDate", "DUMMY"),
        ("AcquisitionDateTime", "DUMMY"),
        ("DeviceSerialNumber", "DUMMY"),
        ("SoftwareVersions", "DUMMY"),
        ("SeriesDate", "REMOVE"),
        ("InstitutionName", "REMOVE"),
        ("SpecimenIdentifier", "DUMMY"),
        ("SpecimenUID", "UID"),
        ("SpecimenPreparationSequence", "EMPTY"),
        ("CodeMeaning", "REMOVE"),
        ("RescaleType", "REMOVE"),
    ],
)
def test_the_type_of_an_attribute_chooses_among_the_tables_actions(keyword: str, action: str):
    assert profile.find_action(int(pydicom.tag.Tag(keyword))).name == action


# --- every element


@pytest.mark.parametrize("syntax", [None, IMPLICIT])
def test_no_element_of_the_standard_carries_anything_through(tmp_path: Path, syntax: str | None):
    how = Writing() if syntax is None else Writing(syntax=syntax, photometric="RGB")
    path = write_picture(tmp_path / "a.dcm", tissue(128, 128), how)
    dataset = pydicom.dcmread(path)
    assert mark_all(dataset) > 3_500
    dataset.BurnedInAnnotation = "NO"
    for item in (dataset.OpticalPathSequence[0], dataset.SharedFunctionalGroupsSequence[0]):
        mark_all(item)
    add_private(dataset)
    dataset.save_as(path)
    before = path.read_bytes()
    assert len(MARK.findall(before)) > 5_000
    after = bytes_of(cleaned(path))
    assert MARK.findall(after) == []
    assert SAID.encode() not in after
    assert len(after) < len(before) / 4


def test_what_stays_has_values_that_cannot_be_words(tmp_path: Path):
    path = write_picture(tmp_path / "a.dcm", tissue(128, 128))
    dataset = pydicom.dcmread(path)
    dataset.ImageType = ["ORIGINAL", WORD, "VOLUME", WORD]
    dataset.LossyImageCompressionMethod = WORD
    dataset.PositionReferenceIndicator = WORD
    dataset.SeriesNumber = "471147114"
    dataset.Manufacturer, dataset.ManufacturerModelName = f"{WORD} of Leica Biosystems", WORD
    code = dataset.OpticalPathSequence[0].IlluminationTypeCodeSequence[0]
    code.CodeMeaning = WORD
    other = Dataset()
    other.CodeValue, other.CodingSchemeDesignator, other.CodeMeaning = WORD, "99" + WORD, WORD
    dataset.OpticalPathSequence[0].IlluminationTypeCodeSequence.append(other)
    dataset.save_as(path)
    after = dataset_of(cleaned(path), tmp_path)
    assert not MARK.search((tmp_path / "after-0.dcm").read_bytes())
    assert list(after.ImageType) == ["ORIGINAL", "NONE", "VOLUME", "NONE"]
    assert (after.Manufacturer, after.ManufacturerModelName) == ("Leica Biosystems", "REMOVED")
    assert after.SeriesNumber is None
    (left,) = after.OpticalPathSequence[0].IlluminationTypeCodeSequence
    assert (left.CodeValue, left.CodeMeaning) == ("111744", "Brightfield illumination")


def test_required_elements_are_empty_or_say_nothing_and_the_others_are_gone(tmp_path: Path):
    after = dataset_of(cleaned(write_identified_series(tmp_path).path), tmp_path)
    assert (after.StudyDate, after.ContentDate, after.ContentTime) == ("", "19000101", "000000")
    assert after.AcquisitionDateTime == "19000101000000"
    assert after.PatientBirthDate == ""
    for name in ("PatientName", "PatientID", "AccessionNumber"):
        assert not after[name].value
    for name in ("PatientAge", "InstitutionName", "OperatorsName", "ImageComments"):
        assert name not in after
    assert (after.ContainerIdentifier, after.DeviceSerialNumber, after.Manufacturer) == ("REMOVED", "REMOVED", "Leica")
    (specimen,) = after.SpecimenDescriptionSequence
    assert specimen.SpecimenIdentifier == "REMOVED"
    assert specimen.SpecimenUID.startswith("2.25.")
    assert "SpecimenShortDescription" not in specimen
    assert len(specimen.SpecimenPreparationSequence) == 0


def test_the_file_says_how_it_was_deidentified(tmp_path: Path):
    how = Writing(more={"PatientIdentityRemoved": "NO", "DeidentificationMethod": f"by {SAID}"})
    for syntax in (how.syntax, IMPLICIT):
        photometric = "RGB" if syntax == IMPLICIT else how.photometric
        written = replace(how, syntax=syntax, photometric=photometric)
        after = dataset_of(cleaned(write_picture(tmp_path / "a.dcm", tissue(64, 64), written)), tmp_path)
        assert after.PatientIdentityRemoved == "YES"
        assert after.LongitudinalTemporalInformationModified == "REMOVED"
        assert "PS3.15" in after.DeidentificationMethod
        (code,) = after.DeidentificationMethodCodeSequence
        assert (code.CodeValue, code.CodingSchemeDesignator) == ("113100", "DCM")
        tags = [element.tag for element in after]
        assert tags == sorted(tags)


# --- UIDs


def list_uids(dataset: Dataset) -> Iterator[tuple[str, str]]:
    for element in dataset.iterall():
        if element.VR == "UI":
            yield element.keyword, str(element.value)


def test_uids_are_others_that_hang_together_in_the_same_way(tmp_path: Path):
    slide = cleaned(write_identified_series(tmp_path).path)
    one, other = (dataset_of(slide, tmp_path, file) for file in (0, 1))
    assert one.SeriesInstanceUID == other.SeriesInstanceUID != SERIES
    assert one.FrameOfReferenceUID == other.FrameOfReferenceUID
    assert one.SOPInstanceUID != other.SOPInstanceUID
    assert one.file_meta.MediaStorageSOPInstanceUID == one.SOPInstanceUID
    assert one.SOPClassUID == "1.2.840.10008.5.1.4.1.1.77.1.6"
    for keyword, uid in (*list_uids(one), *list_uids(other)):
        assert UID(uid).is_valid, keyword
    again = cleaned(tmp_path / SAID, salt=b"another")
    assert dataset_of(again, tmp_path).SeriesInstanceUID != one.SeriesInstanceUID
    assert [file.source.size for file in again.files] == [file.source.size for file in slide.files]


def test_a_uid_under_dicoms_own_root_is_replaced_unless_the_standard_lists_it():
    assert replace_uids(b"1.2.840.10008.4711.20110829\\0", SALT).startswith(b"2.25.")
    assert replace_uids(b"1.2.840.10008.1.4.1.1\0", SALT) == b"1.2.840.10008.1.4.1.1"


# --- the file around the elements


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
