"""Files that are DICOM and TIFF at once: the slide is the VOLUME pyramid of the DICOM series, whatever file comes
first, and nothing of the TIFF outlives de-identification."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pydicom
import pytest
import simplejpeg
import tifffile
from pydicom import Dataset
from pydicom.encaps import encapsulate, generate_frames

from tests.slides.dicoms import EXPLICIT, Pixels, Writing, tissue, write_picture
from tests.slides.dual import IDC_NAMES, SAID, Tiff, write_dual_series
from tests.wsi.slide.sources import CountingSource, read_level
from wsi.inspection.examination import examine
from wsi.slide.deidentification.cleaning import clean
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.ranges import ByteRange

LAYOUTS = {
    "Bio-Formats": (Tiff(), ("s_0_0.dcm", "s_0_1.dcm", "s_1_0.dcm", "s_2_0.dcm")),
    "Bio-Formats, big endian": (Tiff(order=">"), ("s_0_0.dcm", "s_0_1.dcm", "s_1_0.dcm", "s_2_0.dcm")),
    "Bio-Formats, BigTIFF": (Tiff(big=True), ("s_0_0.dcm", "s_0_1.dcm", "s_1_0.dcm", "s_2_0.dcm")),
    "Imaging Data Commons": (Tiff(profile=b"profile" * 99), IDC_NAMES),
    "Imaging Data Commons, label first": (Tiff(profile=b"profile" * 99), ("DCM_2", "DCM_3", "DCM_0", "DCM_1")),
    "named as TIFF, label first": (Tiff(), ("slide.tif", "slide_1.tif", "label.tif", "macro.tif")),
    "pyramid hidden from DICOM": (Tiff(hidden=(tissue(230, 150, 9), tissue(115, 75, 9))), IDC_NAMES),
    "the same as BigTIFF, big endian": (Tiff(hidden=(tissue(230, 150, 9),), big=True, order=">"), IDC_NAMES),
}
#: What PS3.6 calls the values that may stay beside UIDs: what the pixels are, how they are cut and measured.
STAYING = {
    "ImageType",
    "Modality",
    "Manufacturer",
    "ManufacturerModelName",
    "SOPClassUID",
    "MediaStorageSOPClassUID",
    "TransferSyntaxUID",
    "FileMetaInformationGroupLength",
    "FileMetaInformationVersion",
    "SeriesNumber",
    "InstanceNumber",
    "CodeValue",
    "CodeMeaning",
    "CodingSchemeDesignator",
    "PixelSpacing",
    "Rows",
    "Columns",
    "NumberOfFrames",
    "SamplesPerPixel",
    "PhotometricInterpretation",
    "PlanarConfiguration",
    "BitsAllocated",
    "BitsStored",
    "HighBit",
    "PixelRepresentation",
    "DimensionOrganizationType",
    "TotalPixelMatrixColumns",
    "TotalPixelMatrixRows",
    "TotalPixelMatrixFocalPlanes",
    "OpticalPathIdentifier",
    "ICCProfile",
}


@pytest.fixture(scope="module")
def base() -> Pixels:
    return tissue(460, 300)


@pytest.fixture(scope="module", params=LAYOUTS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, base: Pixels) -> Path:
    tiff, names = LAYOUTS[request.param]
    folder = tmp_path_factory.mktemp("slide")
    write_dual_series(folder, base, names=names, tiff=tiff)
    return folder


@pytest.fixture(scope="module")
def clean_folder(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("clean")
    slide = clean(open_local_source(folder), salt=b"salt")
    assert (slide.removed.images, slide.removed.files) == (2, 0)
    for file in slide.files:
        (target / file.name).write_bytes(file.source.read(ByteRange(0, file.source.size)))
    return target


def frames_of(path: Path) -> list[bytes]:
    dataset = pydicom.dcmread(path)
    return list(generate_frames(dataset.PixelData, number_of_frames=dataset.NumberOfFrames))


def volumes(folder: Path) -> list[Path]:
    """Largest first."""
    found = {path: pydicom.dcmread(path, stop_before_pixels=True) for path in folder.iterdir()}
    levels = [path for path, dataset in found.items() if dataset.ImageType[2] == "VOLUME"]
    return sorted(levels, key=lambda path: -found[path].TotalPixelMatrixColumns)


def test_the_fixtures_are_tiff_files_with_the_same_pixels(folder: Path, base: Pixels):
    for path in folder.iterdir():
        with tifffile.TiffFile(path) as file:
            found, said = file.pages.first, pydicom.dcmread(path)
            assert found.shape[:2] == (said.TotalPixelMatrixRows, said.TotalPixelMatrixColumns)
            assert SAID in found.description
            first = path.read_bytes()[found.dataoffsets[0] :][: found.databytecounts[0]]
            assert first == frames_of(path)[0]


@pytest.mark.parametrize("order", [1, -1])
def test_the_volume_is_the_slide_whatever_comes_first(folder: Path, base: Pixels, order: int):
    paths = sorted(folder.iterdir())[::order]
    source = SlideSource(files=tuple((path.name, CountingSource(path.read_bytes())) for path in paths))
    reader = open_slide(source)
    assert [(info.width, info.height) for info in reader.inspection.levels] == [(460, 300), (230, 150)]
    assert (reader.inspection.format, reader.inspection.warnings) == ("dicom", ())
    assert reader.inspection.mpp_x == pytest.approx(0.5)
    assert np.abs(read_level(reader, 0).astype(int) - base).mean() < 6
    assert np.abs(read_level(reader, 1).astype(int) - base[::2, ::2]).mean() < 6


def test_pixels_are_those_of_the_dicom_frames(folder: Path):
    reader = open_slide(open_local_source(folder))
    for level, path in enumerate(volumes(folder)):
        pixels = read_level(reader, level)
        height, width = pixels.shape[:2]
        columns = -(-width // 64)
        for number, frame in enumerate(frames_of(path)):
            y, x = (64 * side for side in divmod(number, columns))
            expected = simplejpeg.decode_jpeg(frame)[: height - y, : width - x]
            np.testing.assert_array_equal(pixels[y : y + 64, x : x + 64], expected)


def test_the_thumbnail_shows_the_slide_and_no_label(folder: Path, base: Pixels):
    thumbnail = simplejpeg.decode_jpeg(examine(open_slide(open_local_source(folder))).thumbnail_jpeg)
    assert abs(thumbnail.shape[1] / thumbnail.shape[0] - 460 / 300) < 0.02
    assert np.abs(thumbnail.astype(int).mean((0, 1)) - base.mean((0, 1))).max() < 6


def says(value: object) -> bool:
    """Whether a value says anything: no blanks, zeros, or the day that stands for any."""
    if isinstance(value, bytes):
        return bool(value.strip(b" \0"))
    silent = ("", "None", "[]", "19000101", "000000", "19000101000000", "REMOVED")
    return str(value).strip(" \0") not in silent


#: Of the de-identification itself.
DECLARED = {"PatientIdentityRemoved", "DeidentificationMethod", "ImplementationVersionName"}


def foreign(dataset: Dataset) -> list[str]:
    """Keywords of the values that say something and may not."""
    found: list[str] = []
    for element in dataset.iterall():
        if element.VR == "SQ" or element.keyword in STAYING | DECLARED or element.keyword == "PixelData":
            continue
        if element.VR == "UI" and str(element.value).startswith(("2.25.", "1.2.840.10008.")):
            continue
        if element.tag.group in (0x0022, 0x0028, 0x0048) and element.VR in ("US", "UL", "FL", "FD", "CS"):
            continue
        if says(element.value):
            found.append(f"{element.tag} {element.keyword}")
    return found


def test_every_byte_that_is_left_is_of_the_slide_or_blank(folder: Path, clean_folder: Path):
    before = [frames_of(path) for path in volumes(folder)]
    assert [frames_of(path) for path in volumes(clean_folder)] == before
    assert len(list(clean_folder.iterdir())) == 2
    for path in clean_folder.iterdir():
        data, dataset = path.read_bytes(), pydicom.dcmread(path)
        assert not data[:128].strip(b"\0")
        assert foreign(dataset) == foreign(dataset.file_meta) == []
        frames = frames_of(path)
        # Eight bytes before each frame and before the table of offsets.
        assert len(dataset.PixelData) == sum(len(frame) for frame in frames) + 8 * (len(frames) + 1)
        end = data.rindex(frames[-1]) + len(frames[-1])
        assert not data[end:].replace(bytes.fromhex("feffdde000000000"), b"").lstrip(b"\xfc\xff")[10:].strip(b"\0")


def test_what_is_left_is_no_tiff(clean_folder: Path):
    for path in clean_folder.iterdir():
        with pytest.raises(tifffile.TiffFileError):
            tifffile.TiffFile(path)


def test_the_clean_slide_is_read_as_before(folder: Path, clean_folder: Path):
    one, other = open_slide(open_local_source(folder)), open_slide(open_local_source(clean_folder))
    assert one.inspection == other.inspection
    for level in (0, 1):
        np.testing.assert_array_equal(read_level(one, level), read_level(other, level))


def test_fragments_that_are_no_frame_are_blanked(tmp_path: Path, base: Pixels):
    """An extended table can leave out items of the pixels, where a label would outlive."""
    path = write_picture(tmp_path / "a.dcm", base, Writing(table="extended"))
    dataset = pydicom.dcmread(path)
    frames, hidden = frames_of(path), b"S11-4711" * 20
    item = bytes.fromhex("feff00e0") + len(hidden).to_bytes(4, "little") + hidden
    kept = encapsulate(frames, has_bot=False)
    middle = kept.index(frames[5]) - 8
    dataset.PixelData = kept[:middle] + item + kept[middle:] + item
    offsets = np.frombuffer(dataset.ExtendedOffsetTable, "<u8") + np.where(np.arange(len(frames)) >= 5, len(item), 0)
    dataset.ExtendedOffsetTable = offsets.astype("<u8").tobytes()
    dataset.save_as(path)
    assert path.read_bytes().count(b"S11-4711") == 40
    file = clean(open_local_source(tmp_path), salt=b"salt").files[0].source
    data = file.read(ByteRange(0, file.size))
    assert b"S11-4711" not in data
    assert all(frame in data for frame in frames)


def test_bytes_behind_native_pixels_are_blanked(tmp_path: Path, base: Pixels):
    path = write_picture(tmp_path / "a.dcm", base, Writing(syntax=EXPLICIT, photometric="RGB"))
    dataset = pydicom.dcmread(path)
    dataset.PixelData += b"S11-4711"
    dataset.save_as(path)
    file = clean(open_local_source(tmp_path), salt=b"salt").files[0].source
    assert b"S11-4711" not in file.read(ByteRange(0, file.size))
