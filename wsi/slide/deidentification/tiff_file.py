"""The pages of a TIFF that stay, by its layout: those that are read as levels, and an SVS's thumbnail of the scan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from wsi.records.slides import Choice, Removed
from wsi.slide import tiff
from wsi.slide.coding import Codec
from wsi.slide.deidentification.aperio_text import keep_measures
from wsi.slide.deidentification.ndpi_level import locate_level_comments
from wsi.slide.deidentification.ome_text import build_description
from wsi.slide.deidentification.overwrites import Overwrite, sort_overwrites
from wsi.slide.deidentification.refusing import make_deidentification_error
from wsi.slide.deidentification.tiff_pages import MAKE, KeptPage, clean_pages, locate_pixels
from wsi.slide.deidentification.tiff_values import holds_places
from wsi.slide.deidentification.tile_comments import locate_tile_comments
from wsi.slide.layouts import aperio, generic, ndpi, ome
from wsi.slide.layouts.pyramids import StoredImage, shows_same_field
from wsi.slide.layouts.tiff_levels import read_image_size
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.tiff import Directory, Tiff

#: Tags of an NDPI: its version, the lens, the image's position on the glass and in focus.
_NDPI_TAGS: Final = frozenset(
    {
        tiff.NDPI_VERSION,
        ndpi.SOURCE_LENS,
        65422,  # nm from the slide's centre, across
        65423,  # and down
        ndpi.Z_OFFSET,
        ndpi.CAPTURE_MODE,
    }
)
_STARTS: Final = (ndpi.STARTS, ndpi.STARTS_UPPER)  #: of its restart slices
_MAKER: Final = "Hamamatsu"
_CODECS: Final = {7: Codec.JPEG, 33003: Codec.JPEG_2000, 33005: Codec.JPEG_2000, 34712: Codec.JPEG_2000}
_SHOWS_MORE: Final = re.compile(r"label|macro", re.IGNORECASE)  #: than the scan


def clean_tiff(source: RangeSource, choice: Choice | None) -> tuple[str, tuple[Overwrite, ...], Removed]:
    """Return the suffix of the clean file's name, its overwrites, and what they remove. Only the chosen image stays.
    The caller must have read the file's index with the same choice. Raises SlideRejected."""
    file = tiff.parse(source)
    suffix, pages = next(of_layout(file, choice) for claims, of_layout in _LAYOUTS if claims(file))
    overwrites, removed = clean_pages(file, pages, source.size)
    locate = locate_level_comments if file.ndpi else _locate_comments
    within = [place for page in _list_pages(pages) for place in locate(page, source)]
    try:
        return suffix, sort_overwrites((*overwrites, *map(Overwrite, within))), removed + Removed(tags=len(within))
    except ValueError:
        raise make_deidentification_error("Two tiles of the file share their bytes in part") from None


def _list_pages(pages: Sequence[KeptPage]) -> Iterator[Directory]:
    for page in pages:
        yield page.directory
        yield from _list_pages(page.below)


def _locate_comments(page: Directory, source: RangeSource) -> Sequence[ByteRange]:
    codec = _CODECS.get(page.read_integer(tiff.COMPRESSION, 1))
    return [] if codec is None else locate_tile_comments(source, codec, *locate_pixels(page, source.size))


def _aperio(file: Tiff, choice: Choice | None) -> tuple[str, Sequence[KeptPage]]:
    levels = aperio.scan(file, choice).levels
    pages = _pages_of(file, levels, also=lambda page, number: number == 1 and _shows_the_scan(page, levels[0]))
    return ".svs", [_keep_page_measures(page) for page in pages]


def _keep_page_measures(page: KeptPage) -> KeptPage:
    """Return the page with the part of Aperio's description that stays."""
    text, lost = keep_measures(page.directory.read_text(tiff.IMAGE_DESCRIPTION))
    return replace(page, text=text, lost=lost, below=tuple(map(_keep_page_measures, page.below)))


def _pages_of(
    file: Tiff, levels: Sequence[Directory], *, also: Callable[[Directory, int], bool] = lambda page, number: False
) -> list[KeptPage]:
    """Return the pages that are levels or have levels below them (SubIFDs), and those that `also` takes, in the file's
    order. Raises SlideRejected where a level hangs below a page that does not stay: that page cannot go."""
    places = {level.place for level in levels}
    kept = [
        KeptPage(page, below=tuple(KeptPage(below) for below in page.read_sub_directories() if below.place in places))
        for number, page in enumerate(file.directories)
        if page.place in places or also(page, number)
    ]
    if len(places) > len({one.directory.place for page in kept for one in (page, *page.below)} & places):
        raise make_deidentification_error("A level of the slide hangs below an image that is not the slide")
    return kept


def _shows_the_scan(page: Directory, base: Directory) -> bool:
    """Return whether an SVS's second page is a smaller image of the scan. Images of the whole glass have other
    proportions, and say what they are."""
    text = page.read_text(tiff.IMAGE_DESCRIPTION)
    if tiff.TILE_WIDTH in page or not text.startswith("Aperio") or _SHOWS_MORE.search(text):
        return False
    if page.read_integer(tiff.NEW_SUBFILE_TYPE, 0):
        return False
    thumbnail, scan = (
        StoredImage(number=0, width=width, height=height, is_reduced=True)
        for width, height in map(read_image_size, (page, base))
    )
    return thumbnail.side < scan.side and shows_same_field(thumbnail, scan)


def _ndpi(file: Tiff, choice: Choice | None) -> tuple[str, Sequence[KeptPage]]:
    levels, _ = ndpi.choose_focal_plane(ndpi.select_levels(file), choice)
    return ".ndpi", [_keep_level(level) for level in levels]


def _keep_level(level: Directory) -> KeptPage:
    """Return an NDPI's level with its list of restart slices, if that lists places alone."""
    listed = frozenset(_STARTS) if holds_places(level, ndpi.STARTS) else frozenset[int]()
    upper = ndpi.STARTS_UPPER in level and not holds_places(level, ndpi.STARTS_UPPER)
    make = _MAKER.encode() if level.read_text(MAKE).strip().lower() == _MAKER.lower() else None
    return KeptPage(level, more=_NDPI_TAGS, lists=frozenset() if upper else listed, make=make)


def _ome(file: Tiff, choice: Choice | None) -> tuple[str, Sequence[KeptPage]]:
    found = ome.scan(file, choice)
    if not found.in_one_image:
        raise make_deidentification_error("The slide's levels are listed as images of their own")
    image, pages = found.image, [channel[0] for channel in found.channels]
    staying = [directory for directory in file.directories if directory.place in {page.place for page in pages}]
    text = build_description(image, [[one.place for one in staying].index(page.place) for page in pages])
    return ".ome.tif", [
        KeptPage(
            page,
            text=text if number == 0 else None,
            lost=int(number == 0 and text.decode() != ome.read_description(file)),
            spare=file.directories[0].entries[tiff.IMAGE_DESCRIPTION] if number == 0 else None,
            below=tuple(KeptPage(level) for level in ome.select_levels(page) if level.place != page.place),
        )
        for number, page in enumerate(staying)
    ]


def _generic(file: Tiff, choice: Choice | None) -> tuple[str, Sequence[KeptPage]]:
    return ".tif", _pages_of(file, generic.scan(file, choice).levels)


_Pages = Callable[[Tiff, Choice | None], tuple[str, Sequence[KeptPage]]]
#: In the order of `layouts.registry.TIFF_LAYOUTS`.
_LAYOUTS: Final[tuple[tuple[Callable[[Tiff], bool], _Pages], ...]] = (
    (aperio.matches, _aperio),
    (ndpi.matches, _ndpi),
    (ome.matches, _ome),
    (generic.matches, _generic),
)
