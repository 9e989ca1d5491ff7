"""Slides of several files: what did not come is told by what it is for, before anything is copied."""

from __future__ import annotations

import pytest

from tests.shared_slides import shared_slide
from tests.wsi.slide.sources import CountingSource
from wsi.errors import RejectReason, SlideRejected
from wsi.slide.files.parts import check_parts
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_local_source, open_slide

SLIDEDAT = (
    "\ufeff[GENERAL]\r\nSLIDE_ID = 1\r\nSLIDE_TYPE = SLIDE_TYPE_{kind}\r\n[HIERARCHICAL]\r\nINDEXFILE = Index.dat\r\n"
    "[DATAFILE]\r\nFILE_COUNT = 3\r\nFILE_0 = Data0000.dat\r\nFILE_1 = Data0001.dat\r\nFILE_2 = Miller_Jane.dat\r\n"
)
VMS = (
    "[Virtual Microscope Specimen]\nNoJpegColumns=2\nNoJpegRows=1\nImageFile=Miller.jpg\n"
    "ImageFile(1,0)=Miller(1,0).jpg\nMapFile=Miller_map2.jpg\nOptimisationFile=Miller.opt\nMacroImage=Miller_macro.jpg\n"
)


def mirax(*parts: str, kind: str = "BRIGHTFIELD") -> SlideSource:
    files = {"Miller.mrxs": b"\xff\xd8", "Miller/Slidedat.ini": SLIDEDAT.format(kind=kind).encode()}
    files |= {f"Miller/{part}": b"." for part in parts}
    return SlideSource(files=tuple((name, CountingSource(data)) for name, data in files.items()))


def hamamatsu(*parts: str) -> SlideSource:
    files = {"Miller.vms": VMS.encode()} | dict.fromkeys(parts, b".")
    return SlideSource(files=tuple((name, CountingSource(data)) for name, data in files.items()))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (mirax("Data0000.dat", "Data0001.dat", "Miller_Jane.dat"), "files Index.dat did not come"),
        (mirax("Index.dat", "Data0000.dat", "Miller_Jane.dat"), "files Data0001.dat did not come"),
        (mirax("Index.dat", "Data0000.dat", "Data0001.dat"), "files a file of pixels did not come"),
        (mirax("Index.dat"), "files Data0000.dat and 2 more did not come"),
        (hamamatsu("Miller.jpg", "Miller(1,0).jpg", "Miller_macro.jpg"), "files the map image did not come"),
        (hamamatsu("Miller.jpg", "Miller_map2.jpg", "Miller_macro.jpg"), r"image of part \(1,0\) did not come"),
        (hamamatsu("Miller(1,0).jpg", "Miller_map2.jpg"), r"image of part \(0,0\) and 1 more did not come"),
    ],
)
def test_a_missing_file_is_named_by_what_it_is_for(source: SlideSource, words: str):
    with pytest.raises(SlideRejected, match=words) as caught:
        check_parts(source)
    assert caught.value.reason is RejectReason.MISSING_FILES
    assert "Miller" not in caught.value.sentence


def test_a_slide_with_all_its_files_passes():
    check_parts(mirax("Index.dat", "Data0000.dat", "Data0001.dat", "Miller_Jane.dat"))
    check_parts(hamamatsu("Miller.jpg", "Miller(1,0).jpg", "Miller_map2.jpg", "Miller_macro.jpg"))


def test_a_mirax_slide_in_fluorescence_is_refused_as_such():
    with pytest.raises(SlideRejected) as caught:
        check_parts(mirax("Index.dat", kind="FLUORESCENCE"))
    assert caught.value.reason is RejectReason.FLUORESCENCE


@pytest.mark.parametrize("text", ["", "no section", "[GENERAL]\n= 3\n", "[DATAFILE]\nFILE_0\n", "\0\0\0"])
def test_a_list_that_can_not_be_read_is_left_to_the_slides_reader(text: str):
    files = {"a.mrxs": b"\xff\xd8", "a/Slidedat.ini": text.encode()}
    check_parts(SlideSource(files=tuple((name, CountingSource(data)) for name, data in files.items())))


def test_a_real_list_of_parts_is_read():
    source = open_local_source(shared_slide("broken/Hamamatsu-VMS/CMU-1-40x - 2010-01-12 13.24.05.vms"))
    check_parts(source)
    fewer = tuple((name, file) for name, file in source.files if "(1,1)" not in name)
    with pytest.raises(SlideRejected, match=r"image of part \(1,1\) did not come"):
        open_slide(SlideSource(files=fewer))
