"""Names of files that other tools stumble over, and folders that hold more than a slide."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tessera.local_run.inputs import expand
from tests.cases.pages import Page, drawn, ome_text, smaller, write_pages
from tests.cases.philips import write_philips
from tests.cases.test_dicom_series import write_dicomdir
from tests.slides.dicoms import EXPLICIT, Writing, write_annotations, write_pyramid
from wsi.slide.opening import open_local_source, open_slide
from wsi.uploads.rules import NewFile, check_files

BASE = drawn()
RAW = Writing(syntax=EXPLICIT, photometric="RGB")
NAMES = {
    "openslide#427 Chinese in the path of a file that OpenSlide reads": "切片/病例 一.tiff",
    "openslide#259 accents in two ways of writing": "M\u00fcller/Mu\u0308ller.tiff",
    "ezomero#55 characters that Windows does not allow": 'a "b" <c> *d* e:f ?g |h.tiff',
    "pathvisio#110 brackets, a percent sign, an ampersand": "slide (2) [x] 50% & co #1.tiff",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_name_is_read_and_accepted(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    write_philips(path, [smaller(drawn(512, 512), 2)], spacing=("0.0005", "0.0005"))
    with closing(open_slide(open_local_source(path))) as reader:  # OpenSlide opens it by its name
        assert reader.inspection.reading_path == "scratch"
    (slide,) = expand([str(tmp_path)]).slides
    assert slide.location == str(path)
    check_files([NewFile(name=name, size=path.stat().st_size)])


def _annotated(folder: Path) -> None:
    write_pyramid(folder, BASE, 2, RAW)
    write_annotations(folder / "2.dcm")


def _with_directory(folder: Path) -> None:
    write_pyramid(folder, BASE, 2, RAW)
    write_dicomdir(folder)


def _companion(folder: Path) -> None:
    text = ome_text(("slide", 320, 240, 0, 0.5))
    write_pages(folder / "a.ome.tif", Page(pixels=BASE, description=text))
    (folder / "a.companion.ome").write_text(text)


def _unread(folder: Path) -> None:
    write_pages(folder / "a.tif", Page(pixels=BASE, density=(40_000.0, 40_000.0)))
    (folder / "b.isyntax").write_bytes(b'<?xml version="1.0"?><DataObject ObjectType="DPUfsImport">' + bytes(2_000))
    (folder / "c.jp2").write_bytes(bytes.fromhex("0000000c6a5020200d0a870a") + bytes(2_000))
    (folder / "d.vsi").write_bytes(b"II*\0" + bytes(100))
    (folder / "e.jpg").write_bytes(bytes.fromhex("ffd8ffe000104a46494600010100") + bytes(500))


FOLDERS: dict[str, tuple[Callable[[Path], None], int, set[str]]] = {
    "openslide#662 annotations among the files of a DICOM series": (_annotated, 1, {"2.dcm"}),
    "wsidicom#95 a DICOMDIR among the files of a DICOM series": (_with_directory, 1, {"DICOMDIR"}),
    "tifffile#72 an OME companion file beside a slide": (_companion, 1, {"a.companion.ome"}),
    "wsidicomizer#133 formats that are not read are named": (_unread, 1, {"b.isyntax", "c.jp2", "d.vsi", "e.jpg"}),
}


@pytest.mark.parametrize("source", FOLDERS)
def test_folder_adds_up(source: str, tmp_path: Path) -> None:
    write, slides, left_out = FOLDERS[source]
    write(tmp_path)
    found = expand([str(tmp_path)])
    seen = {Path(one.location).name: one for one in found.left_out}
    assert left_out <= set(seen), seen
    assert all(one.sentence for one in seen.values())
    assert len(found.slides) == slides
