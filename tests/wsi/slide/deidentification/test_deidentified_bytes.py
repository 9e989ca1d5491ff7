"""Every byte of a de-identified TIFF belongs to the slide or is blank: for every fixture that can be cleaned, with
tifffile as the one who says which bytes belong to what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tifffile
from numpy.typing import NDArray

from tests.shared_slides import shared_slide
from tests.slides import write_pyramid_tiff, write_svs
from tests.slides.identified import (
    write_identified_ndpi,
    write_identified_ome,
    write_identified_svs,
    write_identified_tiff,
)
from tests.slides.pages import BASE, aperio, focal_stack, level, write_pages
from tests.wsi.slide_outcomes import expectations
from wsi.records.slides import Choice
from wsi.slide.deidentification.cleaning import clean
from wsi.slide.opening import open_local_source
from wsi.slide.ranges import ByteRange

SALT = b"salt"
TWO = [level(BASE, 1), level(BASE[:, 300:], 1), level(BASE, 4), level(BASE[:, 300:], 4)]
MADE: dict[str, tuple[Callable[[Path], Path], Choice | None]] = {
    "svs": (lambda folder: write_svs(folder / "a.svs", width=900, height=700, levels=(1, 4)), None),
    "pyramid": (lambda folder: write_pyramid_tiff(folder / "a.tif", width=900, height=700, levels=(1, 2)), None),
    "identified svs": (lambda folder: write_identified_svs(folder).path, None),
    "identified tiff": (lambda folder: write_identified_tiff(folder).path, None),
    "identified BigTIFF": (lambda folder: write_identified_tiff(folder, big=True).path, None),
    "identified ndpi": (lambda folder: write_identified_ndpi(folder).path, None),
    "identified ome": (lambda folder: write_identified_ome(folder).path, None),
    "identified ome, macro first": (lambda folder: write_identified_ome(folder, first=True).path, None),
    "thumbnail first": (
        lambda folder: write_pages(folder / "a.tif", [level(BASE, 8, flag=1), level(BASE, 1), level(BASE, 2, flag=1)]),
        None,
    ),
    "svs, tiled thumbnail first": (
        lambda folder: write_pages(folder / "a.svs", [aperio(BASE, 8), aperio(BASE, 1), aperio(BASE, 4)]),
        None,
    ),
    "SubIFDs": (
        lambda folder: write_pages(
            folder / "a.tif", [level(BASE, 1, subifds=2), level(BASE, 2, flag=1), level(BASE, 4, flag=1)]
        ),
        None,
    ),
    "first of two": (lambda folder: write_pages(folder / "a.tif", TWO), Choice(picture=1)),
    "second of two": (lambda folder: write_pages(folder / "a.tif", TWO), Choice(picture=2)),
    "plane at height 0": (lambda folder: focal_stack(folder / "a.svs", [0.9, 0.0, -0.9]), None),
    "lowest plane": (lambda folder: focal_stack(folder / "a.svs", [0.9, 0.0, -0.9]), Choice(focal_plane=1)),
}
FOUND = {
    name: expected
    for name, expected in expectations("shared").items()
    if expected.outcome == "native" and not name.endswith(".dcm") and "ojpeg" not in name
}


def cleaned(path: Path, choice: Choice | None) -> bytes:
    source = clean(open_local_source(path), choice=choice, salt=SALT).files[0].source
    return source.read(ByteRange(0, source.size))


def owned(path: Path) -> NDArray[np.bool_]:
    """[bytes of the file] which of them belong to a page: header, directories, values of tags, pixels."""
    mine = np.zeros(path.stat().st_size, np.bool_)
    with tifffile.TiffFile(path) as file:
        layout = file.tiff
        mine[: layout.offsetsize * 2 if layout.is_bigtiff else 8] = True
        pages = [page for top in file.pages for page in (top.aspage(), *(top.aspage().pages or ()))]
        for page in (each.aspage() for each in pages):
            # Hamamatsu keeps the upper halves of all values behind the directory.
            size = layout.tagnosize + len(page.tags) * (layout.tagsize + 4 * layout.is_ndpi) + 8
            mine[page.offset : page.offset + size] = True
            for tag in page.tags:
                mine[tag.valueoffset : tag.valueoffset + tag.valuebytecount] = True
            # Of an NDPI tifffile lists restart slices, without the JPEG's header.
            whole = [page.tags[tag].value for tag in (273, 279)] if layout.is_ndpi else None
            for start, count in zip(*(whole or (page.dataoffsets, page.databytecounts)), strict=True):
                mine[start : start + count] = True
    return mine


def assert_nothing_else_is_there(path: Path, choice: Choice | None, folder: Path) -> None:
    data = cleaned(path, choice)
    result = folder / f"clean{path.suffix}"
    result.write_bytes(data)
    foreign = np.frombuffer(data, np.uint8)[~owned(result)]
    assert not foreign.any(), f"{int(np.count_nonzero(foreign))} bytes belong to nothing"


@pytest.mark.parametrize("name", MADE)
def test_every_byte_of_what_is_left_belongs_to_the_slide_or_is_blank(name: str, tmp_path: Path):
    write, choice = MADE[name]
    assert_nothing_else_is_there(write(tmp_path), choice, tmp_path)


@pytest.mark.parametrize("name", FOUND)
def test_every_byte_of_a_found_file_belongs_to_the_slide_or_is_blank(name: str, tmp_path: Path):
    assert_nothing_else_is_there(shared_slide(name), FOUND[name].choice, tmp_path)


def test_bytes_between_tiles_are_seen(tmp_path: Path):
    """The measure itself: it finds seven letters that lie between two tiles of what is no longer cleaned."""
    path = write_pyramid_tiff(tmp_path / "a.tif", width=600, height=600, levels=(1,))
    data = bytearray(path.read_bytes())
    hidden = len(data)
    path.write_bytes(data + b"Mueller")
    assert not owned(path)[hidden:].any()
    assert b"Mueller" not in cleaned(path, None)
