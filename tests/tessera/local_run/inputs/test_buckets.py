"""Slides below an s3:// prefix are found as in a folder, by listing it and by the first bytes of each object."""

from __future__ import annotations

from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera.local_run.inputs import LeftOutReason, UsageError, expand
from tests.tessera.local_run.inputs.places import TIFF, Bucket, names
from tests.tessera.local_run.inputs.test_series import write_series

OBJECTS = {
    "s3://b/p/a.svs": TIFF,
    "s3://b/p/readme.txt": b"read me",
    "s3://b/p/empty": b"",
    "s3://b/p/m.mrxs": b"cover",
    "s3://b/p/m/Slidedat.ini": b"list",
    "s3://b/p/m/Data0.dat": b"data",
    "s3://b/p/d/1.dcm": b"first",
    "s3://b/p/d/2.dcm": b"second",
    "s3://b/p/scan": TIFF + b"other",
    "s3://b/p/.hidden/x.svs": TIFF,
    "s3://b/p/z.zarr/0/0": b"chunk",
    "s3://b/p/z.zarr/0/1": b"another",
}


def test_a_prefix_gives_slides_series_and_mirax_slides_with_their_files() -> None:
    found = expand(["s3://b/p/"], remote=Bucket(OBJECTS))
    assert {slide.name: slide.files for slide in found.slides} == {
        "a": ("s3://b/p/a.svs",),
        "m": ("s3://b/p/m.mrxs", "s3://b/p/m/Data0.dat", "s3://b/p/m/Slidedat.ini"),
        "d": ("s3://b/p/d/1.dcm", "s3://b/p/d/2.dcm"),
        "scan": ("s3://b/p/scan",),
    }
    assert {(one.location, one.reason, one.files) for one in found.left_out} == {
        ("s3://b/p/readme.txt", LeftOutReason.NOT_A_SLIDE, 1),
        ("s3://b/p/empty", LeftOutReason.EMPTY, 1),
        ("s3://b/p/.hidden/", LeftOutReason.NOT_SEARCHED, 1),
        ("s3://b/p/z.zarr/", LeftOutReason.UNSUPPORTED_FORMAT, 2),
    }
    assert found.files_of_slides + found.files_left_out == len(OBJECTS)


def test_a_search_sends_one_request_an_object_and_none_for_empty_ones_and_data_of_mirax() -> None:
    bucket = Bucket(OBJECTS)
    expand(["s3://b/p/"], remote=bucket)
    read = {"a.svs", "readme.txt", "d/1.dcm", "d/2.dcm", "scan"}
    assert (bucket.listings, sorted(bucket.reads)) == (["s3://b/p/"], sorted(f"s3://b/p/{name}" for name in read))


def test_the_url_of_a_slide_is_neither_listed_nor_read() -> None:
    bucket = Bucket({})
    (slide,) = expand(["s3://b/p/a.svs"], remote=bucket).slides
    assert (slide.name, slide.files) == ("a", ("s3://b/p/a.svs",))
    assert (bucket.listings, bucket.reads) == ([], [])


def test_the_url_of_a_mirax_slide_brings_its_folder() -> None:
    bucket = Bucket(OBJECTS)
    (slide,) = expand(["s3://b/p/m.mrxs"], remote=bucket).slides
    assert bucket.listings == ["s3://b/p/m/"]
    assert len(slide.files) == 3


def test_the_url_of_an_object_without_a_suffix_names_it_alone() -> None:
    found = expand(["s3://b/p/scan"], remote=Bucket({**OBJECTS, "s3://b/p/scan2": TIFF}))
    assert (names(found), found.left_out) == (["scan"], ())


def test_the_url_of_one_file_of_a_series_brings_the_files_next_to_it(tmp_path: Path) -> None:
    files = [*write_series(tmp_path, "DCM_0", "DCM_1"), *write_series(tmp_path, "DCM_2", series="1.2.3")]
    bucket = Bucket({f"s3://b/case/{path.name}": path.read_bytes() for path in files})
    for url, name in (("s3://b/case/DCM_1", "DCM_1"), ("s3://b/case/", "DCM_0")):
        slide = expand([url], remote=bucket).slides[0]
        assert (slide.name, slide.files) == (name, ("s3://b/case/DCM_0", "s3://b/case/DCM_1"))
    bucket.reads.clear()
    expand(["s3://b/case/"], remote=bucket)
    assert len(bucket.reads) == len(files)


def test_two_objects_of_one_etag_and_size_are_one_slide() -> None:
    found = expand(["s3://b/"], remote=Bucket({"s3://b/a.svs": TIFF, "s3://b/copy.svs": TIFF}))
    assert names(found) == ["a"]
    assert [one.reason for one in found.left_out] == [LeftOutReason.DUPLICATE]


def test_a_prefix_is_found_in_the_other_unicode_form() -> None:
    composed, split = normalize("NFC", "s3://b/Fälle/"), normalize("NFD", "s3://b/Fälle/")
    found = expand([composed], remote=Bucket({f"{split}a.svs": TIFF}))
    assert names(found) == ["a"]
    assert len(found.notes) == 1


def test_a_prefix_without_objects_is_a_wrong_call() -> None:
    with pytest.raises(UsageError, match="No slide lies in s3://b/none/"):
        expand(["s3://b/none/"], remote=Bucket({}))


def test_s3_is_refused_where_slides_are_uploaded() -> None:
    with pytest.raises(UsageError, match="registered with POST /slides"):
        expand(["s3://b/a.svs"])


@given(st.lists(st.sampled_from(["x/a.svs", "x/A.svs", "y/a.svs", "y/a.tif", "z/y/a.tif", "x/a-2.svs"]), min_size=1))
def test_names_are_always_distinct(keys: list[str]) -> None:
    found = expand(["s3://b/"], remote=Bucket({f"s3://b/{key}": key.encode() for key in keys}))
    assert len({name.casefold() for name in names(found)}) == len(found.slides) == len(set(keys))
