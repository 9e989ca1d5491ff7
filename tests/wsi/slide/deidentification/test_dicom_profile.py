"""DICOM against the Basic Application Level Confidentiality Profile (PS3.15, annex E), with pydicom as the reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pydicom
import pytest
from pydicom import Dataset
from pydicom.datadict import DicomDictionary, dictionary_has_tag
from pydicom.uid import UID

from tests.slides.dicoms import (
    IMPLICIT,
    SERIES,
    Writing,
    tissue,
    write_picture,
)
from tests.slides.identified import SAID, add_private, write_identified_series
from tests.wsi.slide.deidentification.dicom_results import MARK, SALT, WORD, bytes_of, cleaned, dataset_of
from wsi.slide.deidentification.dicom import kept, profile, profile_table
from wsi.slide.deidentification.dicom.values import replace_uids

#: Elements by which the fixture's image is found and read.
READ: Final = frozenset(
    {"0028", "7FE0", "5200", "00080005"}  # groups, and what pydicom writes texts by
    | {"00080008", "00080016", "00080018", "00080060", "0020000E", "0020000D", "00209311", "00480006", "00480007"}
    | {"00480105", "00480303", "00209161", "00209162", "00209163", "00209228"}
)


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
