"""Which of the files that came together are the slide: by what they are, never by their order."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st

from tests.shared_slides import shared_slide
from tests.slides import write_pyramid_tiff, write_svs
from tests.slides.dicoms import SERIES, Writing, tissue, write_annotations, write_picture, write_pyramid
from tests.slides.ndpi import ndpi_levels, write_ndpi
from tests.slides.scn import write_scn
from tests.wsi.slide.sources import CountingSource, read_level
from wsi.errors import RejectReason, SlideRejected
from wsi.slide.deidentification.cleaning import clean
from wsi.slide.files.choosing import group_candidates, select_files_to_inspect
from wsi.slide.files.recognition import Container
from wsi.slide.files.scratch import ScratchSpace
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_local_source, open_slide
from wsi.slide.ranges import ByteRange

JPEG = b"\xff\xd8\xff\xe0"
TIFF = b"II*\0\x08\0\0\0"
DICOM = bytes(128) + b"DICM"
OTHERS = (
    ("a.txt", b"a note"),
    ("a.xlsx", b"PK\3\4"),
    ("a.jpg", JPEG),
    ("Thumbs.db", b"\xd0\xcf\x11\xe0"),
    ("._a.tif", b""),
)


def sent(*files: Path | tuple[str, bytes]) -> SlideSource:
    """Files that came together and are nowhere on this disk."""
    named = [(file.name, file.read_bytes()) if isinstance(file, Path) else file for file in files]
    return SlideSource(files=tuple((name, CountingSource(data)) for name, data in named))


def rejected(source: SlideSource) -> SlideRejected:
    with pytest.raises(SlideRejected) as opening:
        open_slide(source)
    with pytest.raises(SlideRejected) as cleaning:
        clean(source, salt=b"salt")
    assert cleaning.value.reason is opening.value.reason
    return opening.value


@pytest.fixture(scope="module")
def svs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_svs(tmp_path_factory.mktemp("svs") / "b.svs", width=700, height=500, levels=(1, 4))


@pytest.fixture(scope="module")
def pyramid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pyramid_tiff(tmp_path_factory.mktemp("tif") / "a.tif", width=700, height=500)


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_pyramid(tmp_path_factory.mktemp("dicom"), tissue(230, 150), 2)


@pytest.mark.parametrize("place", [0, 2, 5])
def test_a_slide_is_found_wherever_it_is_among_other_files(svs: Path, place: int):
    files = [*OTHERS[:place], (svs.name, svs.read_bytes()), *OTHERS[place:]]
    source = sent(*files)
    reader = open_slide(source)
    assert (reader.inspection.format, reader.inspection.width) == ("svs", 700)
    assert reader.inspection.warnings[-1] == (
        "Of the files sent, 5 hold something else than the slide and were left out."
    )
    np.testing.assert_array_equal(read_level(reader, 0), read_level(open_slide(sent(svs)), 0))
    again = open_slide(source, index=reader.serialize_index())
    np.testing.assert_array_equal(read_level(again, 1), read_level(reader, 1))


@pytest.mark.parametrize("place", [0, 3])
def test_what_is_cleaned_is_the_slide_that_is_shown(svs: Path, place: int):
    files = [*OTHERS[:place], (svs.name, svs.read_bytes()), *OTHERS[place:]]
    slide = clean(sent(*files), salt=b"salt")
    (file,) = slide.files
    assert (file.number, slide.removed.files) == (place, 5)
    kept = SlideSource(files=((file.name, CountingSource(file.source.read(ByteRange(0, file.source.size)))),))
    np.testing.assert_array_equal(read_level(open_slide(kept), 0), read_level(open_slide(sent(svs)), 0))


def test_a_slide_that_only_openslide_reads_is_found_behind_others(tmp_path: Path):
    path = write_scn(tmp_path / "z.scn")
    with closing(open_slide(sent(("a.txt", b"a note"), path), scratch=ScratchSpace(tmp_path))) as reader:
        assert reader.inspection.format == "scn"
        assert "1 hold something else" in reader.inspection.warnings[-1]


def test_slides_on_this_disk_are_found_behind_others(tmp_path: Path):
    write_scn(tmp_path / "z.scn")
    (tmp_path / "a.txt").write_text("a note")
    files = [open_local_source(tmp_path / name) for name in ("a.txt", "z.scn")]
    source = SlideSource(files=(*files[0].files, *files[1].files), local_path=tmp_path / "a.txt")
    with closing(open_slide(source)) as reader:
        assert reader.inspection.format == "scn"


def two_of(kind: str, folder: Path, svs: Path, pyramid: Path, series: list[Path]) -> SlideSource:
    other = [
        write_picture(folder / f"other{number}.dcm", tissue(230 // step, 150 // step, 3), Writing(series=f"{SERIES}.8"))
        for number, step in enumerate((1, 2))
    ]
    mirax = [(f"{name}{part}", data) for name in "ab" for part, data in ((".mrxs", JPEG), ("/Slidedat.ini", b"[G]"))]
    return {
        "TIFF and SVS": sent(pyramid, svs),
        "DICOM and TIFF": sent(*series, pyramid),
        "TIFF and DICOM": sent(pyramid, *series),
        "two DICOM series": sent(*series, *other),
        "two MIRAX slides": sent(*mirax),
        "MIRAX and TIFF": sent(*mirax[:2], pyramid),
        "NDPI and SVS": sent(write_ndpi(folder / "a.ndpi", ndpi_levels()), svs),
        "SCN and SVS": sent(write_scn(folder / "a.scn"), svs),
        "CZI and SQLite": sent(("a.czi", b"ZISRAWFILE"), ("b.svslide", b"SQLite format 3\0")),
        "three": sent(pyramid, svs, write_scn(folder / "a.scn")),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "TIFF and SVS",
        "DICOM and TIFF",
        "TIFF and DICOM",
        "two DICOM series",
        "two MIRAX slides",
        "MIRAX and TIFF",
        "NDPI and SVS",
        "SCN and SVS",
        "CZI and SQLite",
        "three",
    ],
)
def test_two_slides_at_once_are_refused(kind: str, tmp_path: Path, svs: Path, pyramid: Path, series: list[Path]):
    found = rejected(two_of(kind, tmp_path, svs, pyramid, series))
    assert found.reason is RejectReason.SEVERAL_SLIDES
    count = 3 if kind == "three" else 2
    assert found.sentence == (
        f"The files are those of {count} slides: send each slide by itself, with the files that belong to it."
    )


def test_a_copy_of_a_slide_is_no_second_slide(svs: Path):
    reader = open_slide(sent(svs, ("copy.svs", svs.read_bytes())))
    assert reader.inspection.warnings[-1] == "Of the files sent, 1 are copies of another one and were left out."
    assert clean(sent(svs, ("copy.svs", svs.read_bytes())), salt=b"salt").removed.files == 1


def test_a_file_that_differs_in_one_byte_is_no_copy(svs: Path):
    data = bytearray(svs.read_bytes())
    data[len(data) // 2] ^= 1
    assert rejected(sent(svs, ("copy.svs", bytes(data)))).reason is RejectReason.SEVERAL_SLIDES


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_a_label_without_tiles_and_a_report_are_no_slides(order: Sequence[int], tmp_path: Path, svs: Path):
    tifffile.imwrite(tmp_path / "label.tif", tissue(120, 90))
    files = [tmp_path / "label.tif", svs, write_annotations(tmp_path / "report.dcm")]
    reader = open_slide(sent(*(files[number] for number in order)))
    assert (reader.inspection.format, reader.inspection.width) == ("svs", 700)
    assert "2 hold something else" in reader.inspection.warnings[-1]


def test_files_of_which_none_is_a_slide_are_refused_by_their_number():
    found = rejected(sent(*OTHERS))
    assert found.reason is RejectReason.NOT_A_SLIDE
    assert found.sentence.startswith("None of the 5 files is a whole-slide image:")


def test_a_slide_in_a_format_that_is_not_read_says_so_among_other_files():
    found = rejected(sent(("a.txt", b"a note"), ("slide.vsi", TIFF), ("frame_t_0.ets", b"SIS\0")))
    assert found.reason is RejectReason.UNSUPPORTED_FORMAT
    assert "Olympus" in found.sentence


def test_the_cover_of_a_mirax_slide_alone_misses_its_folder():
    assert rejected(sent(("a.mrxs", JPEG))).reason is RejectReason.MISSING_FILES
    assert rejected(sent(("note.txt", b"a"), ("a.mrxs", JPEG))).reason is RejectReason.MISSING_FILES


def test_of_ten_thousand_files_of_a_mirax_slide_only_the_cover_is_looked_into():
    names = ["note.txt", *(f"S/Data{number:04d}.dat" for number in range(10_000)), "S/Slidedat.ini", "S.mrxs"]
    needed = select_files_to_inspect(names)
    assert needed == [0, 10_002]
    (found,) = group_candidates(names, {0: b"a", 10_002: JPEG})
    assert (found.container, found.opened, len(found.members)) == (Container.OTHER, 10_002, 10_002)


KNOWN = {
    "a.txt": b"a note",
    "b.tif": TIFF,
    "b2.tif": TIFF,
    "c.mrxs": JPEG,
    "c/Slidedat.ini": b"[GENERAL]",
    "c/Data0000.dat": TIFF,
    "DCM_0": DICOM,
    "DCM_1": DICOM,
    "e.dcm": b"",
    "f.czi": b"ZISRAWFILE",
    "g.vms": b"[Virtual Microscope Specimen]",
    "g(1,0).jpg": JPEG,
}


@given(names=st.lists(st.sampled_from([*KNOWN]), unique=True, min_size=1), data=st.data())
def test_the_decision_does_not_depend_on_the_order_of_the_files(names: list[str], data: st.DataObject):
    def decided(order: Sequence[str]) -> set[tuple[Container, frozenset[str]]]:
        heads = {number: KNOWN[order[number]] for number in select_files_to_inspect(order)}
        found = group_candidates(order, heads)
        assert all(one.opened in one.members for one in found)
        return {(one.container, frozenset(order[number] for number in one.members)) for one in found}

    assert decided(names) == decided(data.draw(st.permutations(names)))


def test_the_images_of_a_vms_slide_are_its_members():
    names = ["a(1,0).jpg", "a.vms", "a.opt", "map.jpg"]
    (found,) = group_candidates(names, dict(enumerate((JPEG, b"[Virtual Microscope Specimen]", b"\1", JPEG))))
    assert (found.opened, found.members) == (1, {0, 1, 2, 3})


def test_a_damaged_file_of_a_series_is_a_member_and_a_lone_one_is_no_candidate():
    names = ["0.dcm", "1.dcm", "._1.dcm", "readme.txt"]
    (found,) = group_candidates(names, dict(enumerate((DICOM, b"", b"\0\5\x16\7", b"hello"))))
    assert found.members == {0, 1}
    assert group_candidates(["0.dcm"], {0: b""}) == []


def test_first_bytes_are_requested_once_of_each_file(series: list[Path]):
    source = sent(*series, ("note.txt", b"hello"))
    open_slide(source)
    asked = [len([part for part in file.asked if part.start == 0]) for _, file in source.files]  # pyright: ignore
    assert asked == [1, 1, 1]


def test_naming_one_file_of_two_series_in_a_folder_opens_its_series(tmp_path: Path):
    write_pyramid(tmp_path, tissue(230, 150), 2)
    write_picture(tmp_path / "z.dcm", tissue(200, 150), Writing(series=f"{SERIES}.8"))
    assert [info.width for info in open_slide(open_local_source(tmp_path / "1.dcm")).inspection.levels] == [230, 115]
    assert [info.width for info in open_slide(open_local_source(tmp_path / "z.dcm")).inspection.levels] == [200]
    with pytest.raises(SlideRejected) as caught:
        open_slide(open_local_source(tmp_path))
    assert caught.value.reason is RejectReason.SEVERAL_SLIDES


def test_a_real_mirax_slide_keeps_its_reason():
    source = open_local_source(shared_slide("broken/mirax-dummy-data/Mirax2-Fluorescence-1.mrxs"))
    with pytest.raises(SlideRejected) as caught:
        open_slide(SlideSource(files=tuple(reversed(source.files)), local_path=None))
    assert caught.value.reason is RejectReason.FLUORESCENCE
