"""DICOM files are grouped by their series, whatever their names and however they are named."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tessera.local_run.inputs import Found, LeftOutReason, expand
from tessera.local_run.sources import Sources
from tests.slides.dicoms import SERIES, Writing, tissue, write_annotations, write_picture
from tests.tessera.local_run.inputs.places import TIFF, left_out, names, write
from wsi.errors import SlideRejected
from wsi.slide.opening import open_slide

PIXELS = tissue(64, 64)


def write_series(folder: Path, *files: str, series: str = SERIES, kind: str = "VOLUME") -> list[Path]:
    """Write files of a series without any suffix, as the Imaging Data Commons names some of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name in files:
        how = Writing(series=series, kind=kind, instance=f"{series}.{len(written) + 1}")
        path = write_picture(folder / name, PIXELS, how)
        written.append(path)
    return written


def files_of(found: Found) -> list[list[str]]:
    return [[Path(file).name for file in slide.files] for slide in found.slides]


def test_files_without_a_suffix_are_one_slide_named_by_their_folder(tmp_path: Path) -> None:
    write_series(tmp_path / "PAWDLM", "DCM_0", "DCM_1", "DCM_2")
    for path in (tmp_path, tmp_path / "PAWDLM"):
        found = expand([str(path)])
        assert (names(found), files_of(found)) == (["PAWDLM"], [["DCM_0", "DCM_1", "DCM_2"]])


def test_files_that_are_named_one_by_one_are_one_slide(tmp_path: Path) -> None:
    files = write_series(tmp_path / "case", "DCM_0", "DCM_1", "DCM_2")
    found = expand([str(file) for file in files])
    assert (names(found), files_of(found), found.left_out) == (["case"], [["DCM_0", "DCM_1", "DCM_2"]], ())


def test_one_named_file_brings_its_series_and_no_other(tmp_path: Path) -> None:
    write_series(tmp_path, "DCM_0", "DCM_1")
    write_series(tmp_path, "DCM_2", series=f"{SERIES}.2")
    write(tmp_path, "notes.txt", "a.svs")
    found = expand([str(tmp_path / "DCM_1")])
    assert (names(found), files_of(found), found.left_out) == (["DCM_1"], [["DCM_0", "DCM_1"]], ())


def test_rows_of_a_manifest_that_name_the_files_of_a_series_are_one_slide(tmp_path: Path) -> None:
    write_series(tmp_path / "case", "DCM_0", "DCM_1")
    (tmp_path / "m.csv").write_text("path,mpp\ncase/DCM_0,0.5\ncase/DCM_1,0.5\n")
    assert files_of(expand([], tmp_path / "m.csv")) == [["DCM_0", "DCM_1"]]


def test_two_series_in_one_folder_are_two_slides(tmp_path: Path) -> None:
    write_series(tmp_path / "case", "DCM_0", "DCM_2")
    write_series(tmp_path / "case", "DCM_1", series=f"{SERIES}.2")
    found = expand([str(tmp_path)])
    assert (names(found), files_of(found)) == (["DCM_0", "DCM_1"], [["DCM_0", "DCM_2"], ["DCM_1"]])


def test_a_series_is_named_by_its_first_file_where_other_slides_lie_beside_it(tmp_path: Path) -> None:
    write_series(tmp_path, "DCM_0", "DCM_1")
    write(tmp_path, "a.svs", head=TIFF)
    assert names(expand([str(tmp_path)])) == ["DCM_0", "a"]


def test_a_series_over_several_folders_is_one_slide(tmp_path: Path) -> None:
    one, two = write_series(tmp_path, "DCM_0", "DCM_1")
    for number, path in enumerate((one, two)):
        (tmp_path / f"case/IM{number}").mkdir(parents=True)
        shutil.move(path, tmp_path / f"case/IM{number}/{number}.dcm")
    found = expand([str(tmp_path)])
    assert (names(found), files_of(found)) == (["case"], [["0.dcm", "1.dcm"]])
    with Sources().open(found.slides[0]) as source:
        assert [name for name, _ in source.files] == ["0.dcm", "1.dcm"]


def test_folders_named_by_uids_keep_the_last_number_of_their_names(tmp_path: Path) -> None:
    write_series(tmp_path / "1.2.3", "DCM_0", "DCM_1")
    write_series(tmp_path / "1.2.4", "DCM_0", "DCM_1", series=f"{SERIES}.2")
    assert names(expand([str(tmp_path)])) == ["1.2.3", "1.2.4"]


def test_two_files_of_one_instance_are_one_file(tmp_path: Path) -> None:
    write_series(tmp_path / "case", "DCM_0", "DCM_1")
    shutil.copy(tmp_path / "case/DCM_0", tmp_path / "case/DCM_0 (1)")
    cut = (tmp_path / "case/DCM_1").read_bytes()[:-100]
    (tmp_path / "case/DCM_1 cut").write_bytes(cut)
    found = expand([str(tmp_path)])
    assert files_of(found) == [["DCM_0", "DCM_1"]]
    assert left_out(found, tmp_path / "case") == {
        "DCM_0 (1)": LeftOutReason.DUPLICATE,
        "DCM_1 cut": LeftOutReason.DUPLICATE,
    }
    assert found.files_of_slides + found.files_left_out == 4


def test_two_files_of_one_instance_that_differ_are_refused_and_not_chosen_between(tmp_path: Path) -> None:
    _, two = write_series(tmp_path / "case", "DCM_0", "DCM_1")
    changed = bytearray(two.read_bytes())
    changed[-3] ^= 1
    (tmp_path / "case/DCM_2").write_bytes(changed + bytes(64))
    found = expand([str(tmp_path)])
    assert (files_of(found), found.left_out) == ([["DCM_0", "DCM_1", "DCM_2"]], ())
    with Sources().open(found.slides[0]) as source, pytest.raises(SlideRejected, match="hold different bytes"):
        open_slide(source)


def test_a_series_of_labels_alone_is_left_out_and_one_with_the_slide_is_not(tmp_path: Path) -> None:
    write_series(tmp_path / "label", "0", "1", series=f"{SERIES}.2", kind="LABEL")
    base, label = write_series(tmp_path / "case", "0", "1")
    write_picture(label, PIXELS, Writing(kind="LABEL", instance=f"{SERIES}.9"))
    found = expand([str(tmp_path)])
    assert files_of(found) == [[base.name, label.name]]
    assert set(left_out(found, tmp_path).values()) == {LeftOutReason.LABEL_OR_OVERVIEW}
    assert names(expand([str(tmp_path / "label/0")])) == ["0"]


def test_a_dicom_file_of_another_kind_is_left_out_and_one_that_is_named_is_not(tmp_path: Path) -> None:
    write_series(tmp_path / "case", "0", "1")
    write_annotations(tmp_path / "case/2.dcm")
    found = expand([str(tmp_path)])
    assert files_of(found) == [["0", "1"]]
    assert left_out(found, tmp_path) == {"case/2.dcm": LeftOutReason.NOT_A_SLIDE}
    assert names(expand([str(tmp_path / "case/2.dcm")])) == ["2"]


def test_a_damaged_file_belongs_to_the_one_series_of_its_folder(tmp_path: Path) -> None:
    write_series(tmp_path / "case", "0.dcm", "1.dcm")
    write(tmp_path / "case", "2.dcm")
    found = expand([str(tmp_path)])
    assert files_of(found) == [["0.dcm", "1.dcm", "2.dcm"]]


def test_a_file_that_is_still_being_copied_belongs_to_its_series(tmp_path: Path) -> None:
    write_series(tmp_path / "case", "0.dcm", "1.dcm.part")
    assert files_of(expand([str(tmp_path)])) == [["0.dcm", "1.dcm.part"]]


def test_a_file_that_is_dicom_and_named_tif_is_a_part_of_its_series(tmp_path: Path) -> None:
    write_series(tmp_path / "case", "0.tif", "1.dcm", "2")
    assert files_of(expand([str(tmp_path)])) == [["0.tif", "1.dcm", "2"]]


@pytest.mark.parametrize("how", ["folder", "files"])
def test_what_was_found_opens_as_one_slide(tmp_path: Path, how: str) -> None:
    from wsi.slide.opening import open_slide

    (tmp_path / "case").mkdir()
    base = tissue(512, 512)
    for level in range(2):
        spacing = (0.0005 * 2**level,) * 2
        picture = base[:: 2**level, :: 2**level].copy()
        write_picture(tmp_path / f"case/DCM_{level}", picture, replace(Writing(), spacing=spacing))
    paths = [tmp_path / "case"] if how == "folder" else sorted((tmp_path / "case").iterdir())
    (slide,) = expand([str(path) for path in paths]).slides
    with Sources().open(slide) as source:
        reader = open_slide(source)
        assert [level.width for level in reader.inspection.levels] == [512, 256]
        reader.close()
