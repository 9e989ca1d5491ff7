"""Linked folders are followed, each real folder once; results carry the user's names; what is there twice is one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tessera.local_run.inputs import LeftOutReason, expand
from tessera.local_run.sources import Sources
from tests.tessera.local_run.inputs.places import TIFF, left_out, names, write
from tests.tessera.local_run.inputs.test_series import write_series


def link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def test_a_linked_folder_is_searched_and_its_slides_are_known_by_the_link(tmp_path: Path) -> None:
    write(tmp_path / "nas/batch2", "case2.tif")
    write(tmp_path / "study", "case1.tif")
    link(tmp_path / "study/other", tmp_path / "nas/batch2")
    found = expand([str(tmp_path / "study")])
    assert [slide.location for slide in found.slides] == [
        str(tmp_path / "study/case1.tif"),
        str(tmp_path / "study/other/case2.tif"),
    ]
    assert found.left_out == ()


def test_a_linked_slide_is_named_by_the_link(tmp_path: Path) -> None:
    write(tmp_path, "store/4f3a.svs")
    link(tmp_path / "study/Case 7.svs", tmp_path / "store/4f3a.svs")
    assert names(expand([str(tmp_path / "study")])) == ["Case 7"]
    assert names(expand([str(tmp_path / "study/Case 7.svs")])) == ["Case 7"]


def test_links_in_a_circle_and_to_folders_above_end_the_search(tmp_path: Path) -> None:
    write(tmp_path, "other/b.svs", "study/a.svs", "study/deep/c.svs")
    link(tmp_path / "study/up", tmp_path)
    link(tmp_path / "study/deep/self", tmp_path / "study/deep")
    link(tmp_path / "study/x/y", tmp_path / "study/x/y")
    link(tmp_path / "study/there", tmp_path / "far")
    link(tmp_path / "far/back", tmp_path / "study")
    found = expand([str(tmp_path / "study")])
    assert names(found) == ["a", "c"]
    assert left_out(found, tmp_path / "study") == {
        "up/": LeftOutReason.NOT_SEARCHED,
        "deep/self/": LeftOutReason.NOT_SEARCHED,
        "there/back/": LeftOutReason.NOT_SEARCHED,
        "x/y": LeftOutReason.BROKEN_LINK,
    }


def test_a_folder_and_a_link_to_it_are_searched_once_under_its_own_name(tmp_path: Path) -> None:
    write(tmp_path, "study/zzz/a.svs")
    link(tmp_path / "study/aaa", tmp_path / "study/zzz")
    found = expand([str(tmp_path / "study")])
    assert [slide.location for slide in found.slides] == [str(tmp_path / "study/zzz/a.svs")]
    assert left_out(found, tmp_path / "study") == {"aaa/": LeftOutReason.NOT_SEARCHED}


def test_a_link_that_leads_nowhere_is_reported_and_as_a_slide_where_its_name_claims_one(tmp_path: Path) -> None:
    for name in ("gone.svs", "loop.svs", "gone"):
        link(tmp_path / name, tmp_path / ("loop.svs" if name == "loop.svs" else "nowhere"))
    found = expand([str(tmp_path)])
    assert names(found) == ["gone", "loop"]
    assert left_out(found, tmp_path) == {"gone": LeftOutReason.BROKEN_LINK}


def test_a_pipe_is_reported_and_not_opened(tmp_path: Path) -> None:
    write(tmp_path, "a.svs")
    os.mkfifo(tmp_path / "pipe")
    assert left_out(expand([str(tmp_path)]), tmp_path) == {"pipe": LeftOutReason.UNREADABLE}


def test_two_links_to_one_file_and_the_file_itself_are_one_slide(tmp_path: Path) -> None:
    write(tmp_path, "study/m.svs")
    for name in ("a.svs", "z.svs"):
        link(tmp_path / "study" / name, tmp_path / "study/m.svs")
    found = expand([str(tmp_path / "study")])
    assert names(found) == ["m"]
    assert left_out(found, tmp_path / "study") == {"a.svs": LeftOutReason.DUPLICATE, "z.svs": LeftOutReason.DUPLICATE}


def test_a_copy_is_one_slide_and_a_file_that_differs_in_its_middle_is_another(tmp_path: Path) -> None:
    data = TIFF + bytes(300_000)
    for name in ("a", "deep/copy", "other"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "other").write_bytes(data[:150_000] + b"x" + data[150_001:])
    found = expand([str(tmp_path)])
    assert names(found) == ["a", "other"]
    assert left_out(found, tmp_path) == {"deep/copy": LeftOutReason.DUPLICATE}


def test_copies_that_are_named_are_slides_each(tmp_path: Path) -> None:
    for name in ("a.svs", "b.svs", "c.svs"):
        (tmp_path / name).write_bytes(TIFF)
    found = expand([str(tmp_path / "b.svs"), str(tmp_path / "a.svs")])
    assert (names(found), found.left_out) == (["b", "a"], ())
    found = expand([str(tmp_path / "b.svs"), str(tmp_path)])
    assert (names(found), left_out(found, tmp_path)) == (
        ["b"],
        {"a.svs": LeftOutReason.DUPLICATE, "c.svs": LeftOutReason.DUPLICATE},
    )


def test_a_copy_of_a_mirax_slide_is_left_out_with_all_of_its_files(tmp_path: Path) -> None:
    write(tmp_path, "one/a.mrxs", "one/a/Slidedat.ini")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    found = expand([str(tmp_path)])
    assert names(found) == ["a"]
    assert (found.files_of_slides, found.files_left_out) == (2, 2)


def test_a_linked_mirax_slide_is_read_at_its_own_place_and_named_by_the_link(tmp_path: Path) -> None:
    write(tmp_path, "store/x.mrxs", "store/x/Slidedat.ini", "store/x/Data0000.dat")
    link(tmp_path / "study/Case 7.mrxs", tmp_path / "store/x.mrxs")
    for path in (tmp_path / "study", tmp_path / "study/Case 7.mrxs"):
        (slide,) = expand([str(path)]).slides
        assert slide.name == "Case 7"
        with Sources().open(slide) as source:
            assert source.local_path == tmp_path / "store/x.mrxs"
            names_of = [name for name, _ in source.files]
        assert names_of == ["Case 7.mrxs", "Case 7/Data0000.dat", "Case 7/Slidedat.ini"]


def test_a_linked_file_of_a_series_brings_the_files_next_to_its_target(tmp_path: Path) -> None:
    write_series(tmp_path / "store", "0", "1")
    link(tmp_path / "study/Case 7.dcm", tmp_path / "store/0")
    for path in (tmp_path / "study", tmp_path / "study/Case 7.dcm"):
        (slide,) = expand([str(path)]).slides
        assert slide.name == ("Case 7" if path.suffix else "study")
        assert len(slide.files) == 2
