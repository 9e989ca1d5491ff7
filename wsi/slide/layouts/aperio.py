"""Aperio SVS: levels are the tiled pages; thumbnail, label and macro lie in strips. The first page's description begins
with "Aperio" and holds the microns per pixel."""

from __future__ import annotations

from wsi.slide import mpp, tiff
from wsi.slide.index import SlideIndex
from wsi.slide.layouts.tiff_levels import other_pages, resolution, same_shape, shape, slide_index
from wsi.slide.ranges import RangeSource
from wsi.slide.tiff import Directory, Tiff, damaged


def claims(file: Tiff) -> bool:
    return file.directories[0].text(tiff.IMAGE_DESCRIPTION).startswith("Aperio")


def levels(file: Tiff) -> list[Directory]:
    """Largest first. Raises SlideRejected."""
    first = file.directories[0]
    if tiff.TILE_WIDTH not in first:
        raise damaged("The first image of the file has no tiles.")
    smaller = [directory for directory in _tiled(file) if same_shape(directory, first)]
    return sorted((first, *smaller), key=lambda directory: -shape(directory)[0])


def index(file: Tiff, source: RangeSource) -> SlideIndex:
    """Raises SlideRejected."""
    first, found = file.directories[0], levels(file)
    stated = mpp.aperio_mpp(first.text(tiff.IMAGE_DESCRIPTION))
    return slide_index(
        source,
        found,
        format="svs",
        vendor="aperio",
        mpp=mpp.resolve((mpp.StatedMpp("aperio", stated, stated), resolution(first))),
        warnings=other_pages(len(_tiled(file)) + 1 - len(found)),
    )


def _tiled(file: Tiff) -> list[Directory]:
    """Behind the first page."""
    return [directory for directory in file.directories[1:] if tiff.TILE_WIDTH in directory]
