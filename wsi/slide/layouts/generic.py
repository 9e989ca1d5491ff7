"""The generic tiled pyramid, as libvips and most converters write it: the first page is the slide, pages marked as
reduced-resolution are its levels."""

from __future__ import annotations

from wsi.slide import mpp, tiff
from wsi.slide.index import SlideIndex
from wsi.slide.layouts.tiff_levels import other_pages, resolution, same_shape, shape, slide_index, unsupported
from wsi.slide.ranges import RangeSource
from wsi.slide.tiff import Directory, Tiff

_REDUCED, _MASK = 1, 4  #: bits of NewSubfileType


def claims(file: Tiff) -> bool:
    """Leaves alone what another vendor's reader must interpret: SCN, Philips, BIF, Trestle."""
    first = file.directories[0]
    description = first.text(tiff.IMAGE_DESCRIPTION).lstrip("\ufeff \r\n\t")
    libvips = "vips.ecs.soton.ac.uk" in description[:400]
    vendor = tiff.NDPI_VERSION in first or (description.startswith("<") and not libvips)
    return not (vendor or b"iScan" in (first.data(tiff.XMP) or b"") or first.text(tiff.SOFTWARE).startswith("MedScan"))


def levels(file: Tiff) -> list[Directory]:
    """Largest first. Raises SlideRejected."""
    first = file.directories[0]
    if tiff.TILE_WIDTH not in first:
        raise unsupported("The file is a TIFF without tiles: save it as a tiled pyramid, or send the scanner's file.")
    reduced = [
        directory
        for directory in _tiled(file)
        if directory.integer(tiff.NEW_SUBFILE_TYPE, 0) & (_REDUCED | _MASK) == _REDUCED and same_shape(directory, first)
    ]
    return sorted((first, *reduced), key=lambda directory: -shape(directory)[0])


def index(file: Tiff, source: RangeSource) -> SlideIndex:
    """Raises SlideRejected."""
    found = levels(file)
    return slide_index(
        source,
        found,
        format="tiff",
        vendor=None,
        mpp=mpp.resolve((resolution(file.directories[0]),)),
        warnings=other_pages(len(_tiled(file)) + 1 - len(found)),
    )


def _tiled(file: Tiff) -> list[Directory]:
    """Behind the first page."""
    return [directory for directory in file.directories[1:] if tiff.TILE_WIDTH in directory]
