"""What the user names becomes slides, each once and each with a name of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tessera.local_run.inputs import LeftOutReason, UsageError, expand, get_only_slide
from tessera.local_run.inputs.listing import FileEntry
from tests.tessera.local_run.inputs.places import TIFF, left_out, names, write
from wsi.records.slides import Choice


def test_a_folder_gives_its_slides_and_those_below_it(tmp_path: Path) -> None:
    write(tmp_path, "a.svs", "notes.txt", "one/b.TIFF", "one/two/c.ndpi", "one/photo.jpg")
    found = expand([str(tmp_path)])
    assert names(found) == ["a", "b", "c"]
    assert left_out(found, tmp_path) == {
        "notes.txt": LeftOutReason.NOT_A_SLIDE,
        "one/photo.jpg": LeftOutReason.NOT_A_SLIDE,
    }


def test_a_slide_is_found_by_its_first_bytes_whatever_its_suffix(tmp_path: Path) -> None:
    write(tmp_path, "b.gtif", "scan", "d.unknown", head=TIFF)
    write(tmp_path, "e.unknown")
    found = expand([str(tmp_path)])
    assert names(found) == ["b", "d", "scan"]
    assert left_out(found, tmp_path) == {"e.unknown": LeftOutReason.NOT_A_SLIDE}


def test_a_file_whose_name_claims_a_slide_is_one_for_its_reader_to_judge(tmp_path: Path) -> None:
    write(tmp_path, "a.svs")
    (tmp_path / "empty.ndpi").touch()
    (tmp_path / "empty.txt").touch()
    found = expand([str(tmp_path)])
    assert names(found) == ["a", "empty"]
    assert left_out(found, tmp_path) == {"empty.txt": LeftOutReason.EMPTY}


def test_a_file_that_is_named_is_never_left_out(tmp_path: Path) -> None:
    write(tmp_path, "notes.txt", "b.zip")
    found = expand([str(tmp_path / "notes.txt"), str(tmp_path / "b.zip")])
    assert (names(found), found.left_out) == (["notes", "b"], ())


def test_a_folder_of_damaged_dicom_files_is_one_slide(tmp_path: Path) -> None:
    write(tmp_path, "case/level-0.dcm", "case/level-1.dcm", "other/level-0.dcm")
    found = expand([str(tmp_path)])
    assert names(found) == ["case", "other"]
    assert expand([str(tmp_path / "case")]).slides[0].location == str(tmp_path / "case")


def test_the_data_of_a_mirax_slide_belongs_to_it(tmp_path: Path) -> None:
    write(tmp_path, "a.mrxs", "a/Data0000.dat", "a/Slidedat.ini", "a/heatmap.ome.tif")
    found = expand([str(tmp_path)])
    parts = ("a.mrxs", "a/Data0000.dat", "a/Slidedat.ini")
    assert found.slides[0].files == tuple(str(tmp_path / part) for part in parts)
    assert left_out(found, tmp_path) == {"a/heatmap.ome.tif": LeftOutReason.OWN_RESULT}
    assert expand([str(tmp_path / "a.mrxs")]).slides == found.slides


def test_data_of_a_mirax_slide_without_its_cover_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "a/Data0000.dat", "a/Slidedat.ini", "b.svs")
    found = expand([str(tmp_path)])
    assert names(found) == ["b"]
    assert set(left_out(found, tmp_path).values()) == {LeftOutReason.MISSING_FILES}


def test_the_files_that_a_hamamatsu_list_names_belong_to_it(tmp_path: Path) -> None:
    write(tmp_path, "case1(0,1).jpg", "case1_map2.jpg", "case1.opt", "case10.vms", "case10.jpg", "other.jpg")
    (tmp_path / "case1.vms").write_text("[Virtual Microscope Specimen]\nImageFile=first.jpg\n")
    write(tmp_path, "first.jpg")
    found = expand([str(tmp_path)])
    files = {slide.name: {Path(file).name for file in slide.files} for slide in found.slides}
    assert files == {
        "case1": {"case1.vms", "first.jpg", "case1(0,1).jpg", "case1_map2.jpg", "case1.opt"},
        "case10": {"case10.vms", "case10.jpg"},
    }
    assert left_out(found, tmp_path) == {"other.jpg": LeftOutReason.NOT_A_SLIDE}
    assert expand([str(tmp_path / "case1.vms")]).slides[0].files == found.slides[0].files


def test_results_and_hidden_files_are_no_slides(tmp_path: Path) -> None:
    write(tmp_path, "a.svs", "._a.svs", ".tessera-partial/x.tif", "earlier/heatmap.ome.tif", "out/b.svs", ".git/c.svs")
    found = expand([str(tmp_path)], skip=tmp_path / "out")
    assert names(found) == ["a"]
    assert left_out(found, tmp_path) == {
        "._a.svs": LeftOutReason.HIDDEN,
        "earlier/heatmap.ome.tif": LeftOutReason.OWN_RESULT,
        ".git/": LeftOutReason.NOT_SEARCHED,
    }
    assert (found.files_of_slides, found.files_left_out) == (1, 2)


def test_deleted_files_and_thumbnails_of_a_nas_are_not_searched(tmp_path: Path) -> None:
    write(tmp_path, "a.svs", "#recycle/b.svs", "@eaDir/a.svs/thumb.jpg", "$RECYCLE.BIN/c.svs")
    found = expand([str(tmp_path)])
    assert names(found) == ["a"]
    assert set(left_out(found, tmp_path)) == {"#recycle/", "@eaDir/", "$RECYCLE.BIN/"}


def test_results_may_go_into_the_folder_of_the_slides(tmp_path: Path) -> None:
    write(tmp_path, "a.svs", "a/heatmap.ome.tif")
    assert names(expand([str(tmp_path)], skip=tmp_path)) == ["a"]


def test_an_image_that_is_a_folder_of_thousands_of_files_is_left_out_as_one(tmp_path: Path) -> None:
    write(tmp_path, "a.svs", "b.ome.zarr/0/0/0", "b.ome.zarr/zarr.json")
    assert left_out(expand([str(tmp_path)]), tmp_path) == {"b.ome.zarr/": LeftOutReason.UNSUPPORTED_FORMAT}


def test_equal_stems_get_distinct_names(tmp_path: Path) -> None:
    write(tmp_path, "a.svs", "a.tif", "b.svs", "p1/c.svs", "p2/c.svs")
    assert names(expand([str(tmp_path)])) == ["a.svs", "a.tif", "b", "p1_c.svs", "p2_c.svs"]


def test_names_that_differ_only_in_case_are_distinct_folders(tmp_path: Path) -> None:
    write(tmp_path, "p1/A.svs", "p2/a.tif")
    assert names(expand([str(tmp_path)])) == ["A.svs", "a.tif"]


def test_a_slide_that_is_named_and_lies_in_a_named_folder_runs_once(tmp_path: Path) -> None:
    write(tmp_path, "a.svs", "b.svs")
    found = expand([str(tmp_path / "b.svs"), str(tmp_path)])
    assert (names(found), found.left_out) == (["b", "a"], ())


def test_a_folder_in_another_named_one_is_searched_once(tmp_path: Path) -> None:
    write(tmp_path, "x/a.svs")
    for paths in ([tmp_path, tmp_path / "x"], [tmp_path / "x", tmp_path]):
        found = expand([str(path) for path in paths])
        assert (names(found), found.left_out) == (["a"], ())


def test_a_slide_that_is_named_twice_runs_once_and_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "a.svs")
    found = expand([str(tmp_path / "a.svs")] * 2)
    assert names(found) == ["a"]
    assert left_out(found, tmp_path) == {"a.svs": LeftOutReason.DUPLICATE}
    assert (found.files_of_slides, found.files_left_out) == (1, 0)


def test_a_path_that_does_not_exist_is_a_wrong_call(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file or folder"):
        expand([str(tmp_path / "absent.svs")])


def test_a_folder_without_slides_is_a_wrong_call_that_says_what_lies_there(tmp_path: Path) -> None:
    write(tmp_path, "a.svs.gz")
    with pytest.raises(UsageError, match=r"No slide lies in .*; left out: .*a\.svs\.gz \(archive\)"):
        expand([str(tmp_path)])


def test_a_folder_that_cannot_be_read_is_a_wrong_call(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    if os.access(tmp_path / "closed", os.R_OK):
        pytest.skip("the superuser may read every folder")
    with pytest.raises(UsageError, match="cannot be read"):
        expand([str(tmp_path / "closed")])


def test_nothing_named_is_a_wrong_call() -> None:
    with pytest.raises(UsageError):
        expand([])


def test_a_command_for_one_slide_lists_the_slides_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "a.svs", "b.svs")
    with pytest.raises(UsageError, match=r"holds 2 slides \(.*a\.svs, .*b\.svs\)"):
        get_only_slide("here", expand([str(tmp_path)]))


def test_a_manifest_gives_mpp_and_region_a_row(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(
        '\ufeffpath,case,mpp,roi\na.svs,7,0.25,"10,20,300,400"\n/abs/b.svs,8,,\n', encoding="utf-8"
    )
    first, second = expand([], tmp_path / "m.csv", mpp=0.5).slides
    assert (first.location, first.mpp, first.region) == (str(tmp_path / "a.svs"), 0.25, (10, 20, 300, 400))
    assert (second.location, second.mpp, second.region) == ("/abs/b.svs", 0.5, None)


def test_a_manifest_chooses_an_image_a_row(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(
        "path,optical_path,focal_plane,picture\na.dcm,H&E,,\na.dcm,,2,\na.dcm,H&E,2,\na.dcm,,,3\na.dcm,,,\n"
    )
    chosen = Choice(focal_plane=1)
    found = expand([], tmp_path / "m.csv", choice=chosen)
    both = Choice(optical_path="H&E", focal_plane=2)
    stated = [Choice(optical_path="H&E"), Choice(focal_plane=2), both, Choice(picture=3)]
    assert [slide.choice for slide in found.slides] == [*stated, chosen]
    assert names(found) == ["a", "a-2", "a-3", "a-4", "a-5"]


def test_the_same_slide_with_two_regions_runs_twice(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text('path,roi\na.svs,"0,0,9,9"\na.svs,"9,9,9,9"\n')
    assert names(expand([], tmp_path / "m.csv")) == ["a", "a-2"]


def test_slides_keep_the_order_of_the_rows_whatever_is_stated(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("path,mpp\nc.svs,0.5\na.svs,\nb.svs,0.5\n")
    assert names(expand([], tmp_path / "m.csv")) == ["c", "a", "b"]


def test_a_search_tells_sizes_and_stamps_and_reads_a_file_that_stayed_the_same_once(tmp_path: Path) -> None:
    write(tmp_path, "scan", head=TIFF)
    known: dict[FileEntry, object] = {}
    first = expand([str(tmp_path)], known=known)  # type: ignore[arg-type]
    entry = first.entries[first.slides[0].files[0]]
    assert (entry.size, list(known)) == (8, [entry])
    (tmp_path / "scan").write_bytes(b"not a slide now")
    os.utime(tmp_path / "scan", ns=(0, int(entry.stamp)))
    with pytest.raises(UsageError):
        expand([str(tmp_path)], known=known)  # type: ignore[arg-type]


def test_the_longest_file_names_give_folders_that_a_disk_takes(tmp_path: Path) -> None:
    long = "ü" * 125 + ".svs"
    write(tmp_path, f"one/{long}", f"two/{long}")
    slides = expand([str(tmp_path)]).slides
    for slide in slides:
        (tmp_path / slide.name).mkdir()
    assert len(slides) == 2
