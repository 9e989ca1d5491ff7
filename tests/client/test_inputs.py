"""What the user names becomes slides, each once and each with a name of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.inputs import SlideInput, UsageError, expand, local_slides, read_manifest
from wsi.records.slides import Choice


def no_listing(url: str) -> Sequence[str]:
    raise AssertionError(f"nothing lies on S3 in this test: {url}")


def touched(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")


def names(slides: Sequence[SlideInput]) -> list[str]:
    return [slide.name for slide in slides]


def test_a_folder_gives_its_slides_and_those_below_it(tmp_path: Path) -> None:
    touched(tmp_path, "a.svs", "notes.txt", "one/b.TIFF", "one/two/c.ndpi", "one/photo.jpg")
    assert names(expand([str(tmp_path)], listing=no_listing)) == ["a", "b", "c"]


def test_a_folder_of_dicom_files_is_one_slide(tmp_path: Path) -> None:
    touched(tmp_path, "case/level-0.dcm", "case/level-1.dcm", "other/level-0.dcm")
    slides = expand([str(tmp_path)], listing=no_listing)
    assert names(slides) == ["case", "other"]
    assert expand([str(tmp_path / "case")], listing=no_listing)[0].location == str(tmp_path / "case")


def test_the_data_of_a_mirax_slide_is_no_slide(tmp_path: Path) -> None:
    touched(tmp_path, "a.mrxs", "a/Data0000.dat", "a/Slidedat.ini")
    assert names(expand([str(tmp_path)], listing=no_listing)) == ["a"]


def test_results_and_hidden_files_are_no_slides(tmp_path: Path) -> None:
    touched(tmp_path, "a.svs", "._a.svs", ".tessera-partial/x.tif", "earlier/heatmap.ome.tif", "out/b.svs")
    assert local_slides(tmp_path, skip=tmp_path / "out") == (tmp_path / "a.svs",)


def test_equal_stems_get_distinct_names(tmp_path: Path) -> None:
    touched(tmp_path, "a.svs", "a.tif", "b.svs", "p1/c.svs", "p2/c.svs")
    assert names(expand([str(tmp_path)], listing=no_listing)) == ["a.svs", "a.tif", "b", "p1_c.svs", "p2_c.svs"]


def test_names_that_differ_only_in_case_are_distinct_folders(tmp_path: Path) -> None:
    touched(tmp_path, "p1/A.svs", "p2/a.tif")
    assert names(expand([str(tmp_path)], listing=no_listing)) == ["A.svs", "a.tif"]


def test_the_same_slide_named_twice_runs_once(tmp_path: Path) -> None:
    touched(tmp_path, "a.svs")
    assert len(expand([str(tmp_path / "a.svs"), str(tmp_path)], listing=no_listing)) == 1


def test_a_path_that_does_not_exist_is_a_wrong_call(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file or folder"):
        expand([str(tmp_path / "absent.svs")], listing=no_listing)


def test_a_folder_without_slides_is_a_wrong_call(tmp_path: Path) -> None:
    touched(tmp_path, "readme.txt")
    with pytest.raises(UsageError, match="No slide"):
        expand([str(tmp_path)], listing=no_listing)


def test_nothing_named_is_a_wrong_call() -> None:
    with pytest.raises(UsageError):
        expand([], listing=no_listing)


OBJECTS = (
    "s3://b/p/a.svs",
    "s3://b/p/readme.txt",
    "s3://b/p/m.mrxs",
    "s3://b/p/m/Slidedat.ini",
    "s3://b/p/m/Data0.dat",
    "s3://b/p/d/1.dcm",
    "s3://b/p/d/2.dcm",
)


def test_an_s3_prefix_gives_slides_series_and_mirax_slides_with_their_files() -> None:
    slides = expand(["s3://b/p/"], listing=lambda url: OBJECTS)
    assert {slide.name: slide.files for slide in slides} == {
        "a": ("s3://b/p/a.svs",),
        "m": ("s3://b/p/m.mrxs", "s3://b/p/m/Data0.dat", "s3://b/p/m/Slidedat.ini"),
        "d": ("s3://b/p/d/1.dcm", "s3://b/p/d/2.dcm"),
    }


def test_an_s3_url_of_a_slide_is_not_listed() -> None:
    (slide,) = expand(["s3://b/p/a.svs"], listing=no_listing)
    assert (slide.name, slide.files) == ("a", ("s3://b/p/a.svs",))


def test_an_s3_url_of_a_mirax_slide_brings_its_folder() -> None:
    asked: list[str] = []

    def listing(url: str) -> Sequence[str]:
        asked.append(url)
        return [name for name in OBJECTS if name.startswith(url)]

    (slide,) = expand(["s3://b/p/m.mrxs"], listing=listing)
    assert asked == ["s3://b/p/m"]
    assert len(slide.files) == 3


def test_a_manifest_gives_mpp_and_region_a_row(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(
        '\ufeffpath,case,mpp,roi\na.svs,7,0.25,"10,20,300,400"\n/abs/b.svs,8,,\n', encoding="utf-8"
    )
    first, second = expand([], tmp_path / "m.csv", mpp=0.5, listing=no_listing)
    assert (first.location, first.mpp, first.region) == (str(tmp_path / "a.svs"), 0.25, (10, 20, 300, 400))
    assert (second.location, second.mpp, second.region) == ("/abs/b.svs", 0.5, None)


def test_a_manifest_chooses_a_picture_a_row(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("path,optical_path,focal_plane\na.dcm,H&E,\na.dcm,,2\na.dcm,H&E,2\na.dcm,,\n")
    chosen = Choice(focal_plane=1)
    found = expand([], tmp_path / "m.csv", choice=chosen, listing=no_listing)
    stated = [Choice(optical_path="H&E"), Choice(focal_plane=2), Choice(optical_path="H&E", focal_plane=2)]
    assert [slide.choice for slide in found] == [*stated, chosen]
    assert names(found) == ["a", "a-2", "a-3", "a-4"]


def test_the_same_slide_with_two_regions_runs_twice(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text('path,roi\na.svs,"0,0,9,9"\na.svs,"9,9,9,9"\n')
    assert names(expand([], tmp_path / "m.csv", listing=no_listing)) == ["a", "a-2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slide\na.svs\n", "no column named path"),
        ("path\n", "names no slide"),
        ("path,mpp\na.svs,fine\n", "line 2: mpp must be a number"),
        ('path,roi\na.svs,"1,2,3"\n', "line 2: roi must be x,y,w,h"),
        ('path,roi\na.svs,"1,2,0,3"\n', "line 2: roi must begin"),
        ("path,mpp\n ,0.5\n", "line 2: the path is empty"),
        ("path,mpp\na.svs,0\n", "line 2: mpp must be a number of microns above 0"),
        ("path,mpp\na.svs,-0.5\n", "line 2: mpp must be a number of microns above 0"),
        ("path,focal_plane\na.dcm,0\n", "line 2: focal_plane must be a whole number from 1"),
        ("path,focal_plane\na.dcm,1.5\n", "line 2: focal_plane must be a whole number from 1"),
        ("path,mpp\na.svs,nan\n", "line 2: mpp must be a number of microns above 0"),
        ("path\na\0.svs\n", "line 2: the path holds a zero byte"),
        ('path,mpp\n"a.svs,\nb.svs,\n', "line 3: unexpected end of data"),
        (f"path,note\na.svs,{'x' * 200_000}\n", "line 2: field larger"),
    ],
)
def test_a_bad_manifest_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(UsageError, match=said):
        read_manifest(tmp_path / "m.csv")


def test_spaces_after_the_commas_of_a_manifest_lose_no_column(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text('path, mpp, roi\na.svs, 0.25, "1,2,3,4"\n')
    (slide,) = read_manifest(tmp_path / "m.csv")
    assert (slide.mpp, slide.region) == (0.25, (1, 2, 3, 4))


def test_a_line_of_a_manifest_ends_where_csv_says(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes('path,note\r\na\u2028b.svs,"two\nlines"\r\nc\x0cd.svs,\r\n'.encode())
    found = [Path(slide.location).name for slide in read_manifest(tmp_path / "m.csv")]
    assert found == ["a\u2028b.svs", "c\x0cd.svs"]


def test_results_may_go_into_the_folder_of_the_slides(tmp_path: Path) -> None:
    touched(tmp_path, "a.svs", "a/heatmap.ome.tif")
    assert names(expand([str(tmp_path)], skip=tmp_path, listing=no_listing)) == ["a"]


def test_a_slide_of_a_folder_that_can_not_be_read_is_not_left_out(tmp_path: Path) -> None:
    (tmp_path / "gone.svs").symlink_to(tmp_path / "nowhere.svs")
    (tmp_path / "loop.svs").symlink_to(tmp_path / "loop.svs")
    assert [path.name for path in local_slides(tmp_path)] == ["gone.svs", "loop.svs"]


def test_the_longest_file_names_give_folders_that_a_disk_takes(tmp_path: Path) -> None:
    long = "ü" * 125 + ".svs"
    touched(tmp_path, f"one/{long}", f"two/{long}")
    slides = expand([str(tmp_path)], listing=no_listing)
    for slide in slides:
        (tmp_path / slide.name).mkdir()
    assert len(slides) == 2


@given(st.lists(st.sampled_from(["x/a.svs", "x/A.svs", "y/a.svs", "y/a.tif", "z/y/a.tif", "x/a-2.svs"]), min_size=1))
def test_names_are_always_distinct(locations: list[str]) -> None:
    listing = [f"s3://b/{location}" for location in locations]
    found = expand(["s3://b"], listing=lambda url: listing)
    assert len({slide.name.casefold() for slide in found}) == len(found) == len(set(locations))
