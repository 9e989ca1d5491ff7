"""What a DICOM file is and which series it belongs to, from few bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pydicom
import pytest
from pydicom import Dataset
from pydicom.filewriter import dcmwrite

from tests.shared_slides import shared_slide
from tests.slides.dicoms import ANNOTATIONS, EXPLICIT, IMPLICIT, SERIES, SLIDE, Writing, tissue, write_annotations
from tests.slides.dicoms import write_picture as write_image
from tests.wsi.slide.sources import CountingSource
from wsi.errors import SlideRejected
from wsi.slide.dicom.identity import read_identity
from wsi.slide.ranges import FileSource


def asked(source: CountingSource) -> tuple[int, int]:
    return len(source.asked), sum(part.size for part in source.asked)


@pytest.mark.parametrize("kind", ["VOLUME", "LABEL", "OVERVIEW", "THUMBNAIL"])
@pytest.mark.parametrize("syntax", [EXPLICIT, IMPLICIT])
def test_identity_is_read_in_one_request_whatever_the_name(tmp_path: Path, kind: str, syntax: str):
    how = Writing(kind=kind, syntax=syntax, photometric="RGB", study="1.2.3.4", instance="1.2.3.5")
    path = write_image(tmp_path / "DCM_0", tissue(600, 400), how)
    source = CountingSource(path.read_bytes())
    found = read_identity(source)
    assert found is not None
    assert (found.sop_class, found.study, found.series, found.instance) == (SLIDE, "1.2.3.4", SERIES, "1.2.3.5")
    assert (found.kind, found.is_slide, found.is_level) == (kind, True, kind == "VOLUME")
    assert asked(source) == (1, 65_536)


def test_identity_from_known_first_bytes_needs_no_request(tmp_path: Path):
    data = write_image(tmp_path / "a", tissue(600, 400)).read_bytes()
    source = CountingSource(data)
    found = read_identity(source, data[:4_096])
    assert found == read_identity(CountingSource(data))
    assert asked(source) == (0, 0)


def test_annotations_are_no_slide(tmp_path: Path):
    found = read_identity(FileSource(write_annotations(tmp_path / "a.dcm")))
    assert found is not None
    assert (found.sop_class, found.series, found.is_slide) == (ANNOTATIONS, SERIES + ".9", False)


@pytest.mark.parametrize("data", [b"", b"DICM", b"II*\0" + bytes(200), b"\0\5\x16\7" + bytes(4_096)])
def test_other_files_have_no_identity(data: bytes):
    assert read_identity(CountingSource(data)) is None
    assert read_identity(CountingSource(data), data) is None


def test_a_file_that_is_tiff_too_has_an_identity(tmp_path: Path):
    path = write_image(tmp_path / "a.tiff", tissue(100, 100), Writing(kind="LABEL"))
    data = path.read_bytes()
    found = read_identity(CountingSource(b"II*\0\x08\0\0\0" + data[8:]))
    assert found is not None
    assert found.kind == "LABEL"


@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.2"])
def test_the_series_of_a_file_whose_header_is_packed_stays_empty(tmp_path: Path, syntax: str):
    data = write_image(tmp_path / "a", tissue(100, 100), Writing(instance="1.2.3")).read_bytes()
    known = b"1.2.840.10008.1.2.4.50"
    found = read_identity(CountingSource(data.replace(known, syntax.encode().ljust(len(known), b"\0"))))
    assert found is not None
    assert (found.series, found.instance, found.is_slide) == ("", "1.2.3", True)


def test_large_values_before_the_series_are_jumped_over(tmp_path: Path):
    """Private groups stand between the class (group 0008) and the series (group 0020)."""
    path = write_image(tmp_path / "a", tissue(100, 100))
    dataset = pydicom.dcmread(path)
    block = dataset.private_block(0x0009, "VENDOR", create=True)
    block.add_new(0x01, "OB", bytes(20_000_000))
    item = Dataset()
    item.PatientName = "Doeringer"
    block.add_new(0x02, "SQ", [item] * 40)
    dcmwrite(path, dataset)
    source = CountingSource(path.read_bytes())
    found = read_identity(source)
    assert found is not None
    assert found.series == SERIES
    assert asked(source)[1] <= 3 * 65_536


def test_sequences_without_representation_before_the_series_are_walked(tmp_path: Path):
    """A sequence of unknown representation and undefined length holds implicit elements (PS3.5, 6.2.2)."""
    data = write_image(tmp_path / "a", tissue(100, 100)).read_bytes()
    element = bytes.fromhex("09000110") + b"UN\0\0\xff\xff\xff\xff"
    item = bytes.fromhex("feff00e0ffffffff") + bytes.fromhex("1000100004000000") + b"Ada "
    ends = bytes.fromhex("feff0de000000000feffdde000000000")
    place = data.index(bytes.fromhex("10001000"))  # PatientName
    found = read_identity(CountingSource(data[:place] + element + item + ends + data[place:]))
    assert found is not None
    assert found.series == SERIES


def test_a_header_without_end_is_refused_after_few_bytes():
    head = bytes(128) + b"DICM" + bytes.fromhex("020002005549") + b"\x04\x001.2\0"
    head += bytes.fromhex("020010005549") + b"\x14\x001.2.840.10008.1.2.1\0"
    value = bytes.fromhex("0900011055 4e0000") + (200_000).to_bytes(4, "little") + bytes(200_000)
    source = CountingSource(head + value * 1_000)
    with pytest.raises(SlideRejected):
        read_identity(source)
    assert asked(source)[1] <= 40_000_000


@pytest.mark.parametrize("name", ["dicom/camelyon-jpeg-lowpower", "dicom/highdicom-sm-image", "dicom/openslide-boxes"])
def test_identity_of_real_files_is_what_pydicom_reads(name: str):
    for path in sorted(shared_slide(name).iterdir()):
        found, said = read_identity(FileSource(path)), pydicom.dcmread(path, stop_before_pixels=True)
        assert found is not None
        assert (found.sop_class, found.study) == (said.SOPClassUID, said.StudyInstanceUID)
        assert (found.series, found.instance) == (said.SeriesInstanceUID, said.SOPInstanceUID)
        assert found.kind == said.ImageType[2]


def test_identity_of_images_that_differ_differs(tmp_path: Path):
    found = {
        read_identity(FileSource(write_image(tmp_path / "a", np.ascontiguousarray(tissue(64, 64, seed)))))
        for seed in range(3)
    }
    assert len(found) == 3
