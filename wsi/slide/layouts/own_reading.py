"""The findings of our own reader in a TIFF that OpenSlide reads, so that falling back to OpenSlide loses neither the
scale nor levels nor the choice of the image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wsi.errors import SlideRejected
from wsi.slide import tiff
from wsi.slide.layouts.pyramids import find_pyramids
from wsi.slide.layouts.registry import find_chosen_size
from wsi.slide.layouts.tiff_images import select_candidates
from wsi.slide.layouts.tiff_levels import read_image_size
from wsi.slide.mpp import Mpp
from wsi.slide.ranges import ByteRange, RangeSource
from wsi.slide.scales.pages import read_page_mpp
from wsi.slide.tiff import Directory, Tiff

Size = tuple[int, int]  #: px, across and down


@dataclass(frozen=True, slots=True)
class OwnReading:
    mpp: Mpp  #: of the image of that size
    levels: int  #: of that image, itself included; 0 where the file has none of that size, as in SCN
    chosen: Size | None  #: of the image that our own reader takes for the slide; None where it takes none


def read_own(source: RangeSource, size: Size) -> OwnReading | None:
    """Return what a TIFF says of its image of `size`, which is OpenSlide's level 0. Return None
    if the file is no TIFF, or so damaged that our own reader finds nothing in it. That reader has then already reported
    the damage."""
    if not tiff.is_tiff(source.read(ByteRange(0, min(16, source.size)))):
        return None
    try:
        file = tiff.parse(source)
        page = next((image for image in _images(file) if read_image_size(image) == size), None)
        scale = Mpp() if page is None else read_page_mpp(file, page)
    except SlideRejected:
        return None
    return OwnReading(scale, _levels(file, size), _find_chosen_size(file))


def _images(file: Tiff) -> Iterator[Directory]:
    """Yield the images of the file. Those below pages come last: they may be what our own reader gave up at."""
    yield from (page for page in file.directories if tiff.IMAGE_WIDTH in page)
    for page in file.directories:
        if tiff.SUB_DIRECTORIES in page:
            yield from (below for below in page.read_sub_directories() if tiff.IMAGE_WIDTH in below)


def _levels(file: Tiff, size: Size) -> int:
    try:
        pyramids = find_pyramids([one.image for one in select_candidates(file)])
    except SlideRejected:  # Without tiles, as NDPI stores its levels: nothing to compare with.
        return 0
    return max(
        (len(pyramid.levels) for pyramid in pyramids if (pyramid.base.width, pyramid.base.height) == size), default=0
    )


def _find_chosen_size(file: Tiff) -> Size | None:
    """Return the size of the image that our own reader takes for the slide; None if it takes none or gave up."""
    try:
        return find_chosen_size(file)
    except SlideRejected:  # Our own reader gave up before it chose.
        return None
