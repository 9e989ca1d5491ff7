"""Which pages of a TIFF stay, by its layout: those that are read as levels, and an SVS's thumbnail of the scan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from wsi.errors import TileUnreadable
from wsi.records.slides import Removed
from wsi.slide import tiff
from wsi.slide.deidentification.aperio_text import measures_only
from wsi.slide.deidentification.jpeg_comments import comments
from wsi.slide.deidentification.ome_text import described
from wsi.slide.deidentification.overwrites import Overwrite, in_order
from wsi.slide.deidentification.refusing import can_not
from wsi.slide.deidentification.tiff_pages import KeptPage, clean_pages
from wsi.slide.layouts import aperio, generic, ndpi, ome
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.tiff import Directory, Tiff

#: Of an NDPI: that it is one, the lens, where the picture lies on the glass and in the focus, its restart slices.
_NDPI_TAGS: Final = frozenset(
    {
        tiff.NDPI_VERSION,
        ndpi.SOURCE_LENS,
        65422,  # nm from the slide's centre, across
        65423,  # and down
        ndpi.Z_OFFSET,
        ndpi.STARTS,
        ndpi.STARTS_UPPER,
        ndpi.CAPTURE_MODE,
    }
)
_MAKE: Final = 271
_SHOWS_MORE: Final = re.compile(r"label|macro", re.IGNORECASE)  #: than the scan


def clean_tiff(source: RangeSource) -> tuple[str, tuple[Overwrite, ...], Removed]:
    """(suffix of such a file's name, what is written over, what that removes). For a file whose index was read.
    Raises SlideRejected."""
    file = tiff.parse(source)
    suffix, pages = next(of_layout(file) for claims, of_layout in _LAYOUTS if claims(file))
    overwrites, removed = clean_pages(file, pages, source.size)
    within = [place for page in pages if file.ndpi for place in _header_comments(page.directory, source)]
    return (
        suffix,
        in_order((*overwrites, *map(Overwrite, within))),
        removed + Removed(tags=len(within)),
    )


def _aperio(file: Tiff) -> tuple[str, Sequence[KeptPage]]:
    levels = {level.place for level in aperio.levels(file)}
    kept = [
        directory
        for number, directory in enumerate(file.directories)
        if directory.place in levels or (number == 1 and _shows_the_scan(directory, file.directories[0]))
    ]
    texts = [measures_only(directory.text(tiff.IMAGE_DESCRIPTION)) for directory in kept]
    return ".svs", [
        KeptPage(directory, text=text, lost=lost) for directory, (text, lost) in zip(kept, texts, strict=True)
    ]


def _shows_the_scan(directory: Directory, first: Directory) -> bool:
    """An SVS's second page is a smaller picture of what was scanned. Those of the whole glass have other proportions,
    and say what they are."""
    text = directory.text(tiff.IMAGE_DESCRIPTION)
    if tiff.TILE_WIDTH in directory or not text.startswith("Aperio") or _SHOWS_MORE.search(text):
        return False
    if directory.integer(tiff.NEW_SUBFILE_TYPE, 0):
        return False
    sides = [
        tuple(each.integer(tag, 0) for tag in (tiff.IMAGE_WIDTH, tiff.IMAGE_LENGTH)) for each in (directory, first)
    ]
    (width, height), (scanned_width, scanned_height) = sides
    return 0 < width < scanned_width and abs(width - height * scanned_width / scanned_height) <= max(2, 0.02 * width)


def _ndpi(file: Tiff) -> tuple[str, Sequence[KeptPage]]:
    return ".ndpi", [KeptPage(level, more=_NDPI_TAGS | _hamamatsu(level)) for level in ndpi.levels(file)]


def _header_comments(level: Directory, source: RangeSource) -> Iterator[ByteRange]:
    """In an NDPI, whose levels are one JPEG each, those that say anything."""
    starts, sizes = (level.integers(tag) for tag in (tiff.STRIP_OFFSETS, tiff.STRIP_BYTE_COUNTS))
    if starts is None or sizes is None:
        return
    start = int(starts[0])
    data = source.read(ByteRange(start, min(start + min(int(sizes[0]), ndpi.HEADER), source.size)))
    try:
        for begin, end in comments(data):
            if data[begin:end].strip(b"\0"):
                yield ByteRange(start + begin, start + end)
    except TileUnreadable as error:
        raise can_not("A level of the file has no JPEG header that can be read") from error


def _hamamatsu(level: Directory) -> frozenset[int]:
    """Readers know the format by its maker, too."""
    return frozenset({_MAKE}) if level.text(_MAKE).strip().lower() == "hamamatsu" else frozenset()


def _ome(file: Tiff) -> tuple[str, Sequence[KeptPage]]:
    image, pages, _ = ome.picture(file)
    staying = [directory for directory in file.directories if directory.place in {page.place for page in pages}]
    text = described(image, [[one.place for one in staying].index(page.place) for page in pages])
    return ".ome.tif", [
        KeptPage(
            page,
            text=text if number == 0 else None,
            lost=int(number == 0 and text.decode() != file.directories[0].text(tiff.IMAGE_DESCRIPTION)),
            spare=file.directories[0].entries[tiff.IMAGE_DESCRIPTION] if number == 0 else None,
            below=tuple(KeptPage(level) for level in ome.levels(page) if level.place != page.place),
        )
        for number, page in enumerate(staying)
    ]


def _generic(file: Tiff) -> tuple[str, Sequence[KeptPage]]:
    levels = {level.place for level in generic.levels(file)}
    return ".tif", [KeptPage(directory) for directory in file.directories if directory.place in levels]


_Pages = Callable[[Tiff], tuple[str, Sequence[KeptPage]]]
#: In the order of `layouts.registry.TIFF_LAYOUTS`.
_LAYOUTS: Final[tuple[tuple[Callable[[Tiff], bool], _Pages], ...]] = (
    (aperio.claims, _aperio),
    (ndpi.claims, _ndpi),
    (ome.claims, _ome),
    (generic.claims, _generic),
)
