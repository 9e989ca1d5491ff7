"""The images of a TIFF as `pyramids` chooses among them: its pages and what hangs below them (SubIFDs), without those
that say that they are a label, a macro, a thumbnail or a mask."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice
from wsi.slide import tiff
from wsi.slide.layouts.pyramids import StoredImage, choose_plane, choose_pyramid, find_pyramids
from wsi.slide.layouts.tiff_levels import make_unsupported_error, read_image_size
from wsi.slide.tiff import Directory, Tiff

_REDUCED, _MASK = 1, 4  #: bits of NewSubfileType
_APERIO_MACRO: Final = 9  #: NewSubfileType of a macro as Aperio writes it
#: A line that holds nothing but the name, and maybe the size: "label 387x463" of Aperio, a PageName, Akoya's XML.
_BESIDE: Final = re.compile(
    r"^\s*(?:label|macro|thumbnail|overview|preview|map)(?: image)?(?:\s+\d+\s*x\s*\d+.*)?\s*$"
    r"|<ImageType>\s*(?:Label|Macro|Thumbnail|Overview)\s*</ImageType>",
    re.IGNORECASE | re.MULTILINE,
)
_MOST_TEXT: Final = 4_096  #: characters of a description in which such a line is looked for
MAX_IMAGES: Final = 4_000  #: pages and what hangs below them; a file of 300 planes with 7 levels each has 2,400


@dataclass(frozen=True, slots=True)
class TiffImage:
    directory: Directory
    image: StoredImage


@dataclass(frozen=True, slots=True)
class TiffScan:
    """The chosen image of a TIFF."""

    levels: tuple[Directory, ...]  #: largest first
    warnings: tuple[str, ...]

    @property
    def base(self) -> Directory:
        return self.levels[0]


Plane = Callable[[Directory], float]
Scale = Callable[[Directory], float | None]


def find_scan(
    file: Tiff,
    choice: Choice | None,
    *,
    plane_of: Plane = lambda _: 0.0,
    scale_of: Scale = lambda _: None,
) -> TiffScan:
    """Return the slide among the images. `plane_of` is the height of an image's focal plane, `scale_of` its um per px
    where the file states it for this image alone. Raises SlideRejected: NOT_A_SLIDE for a label or an overview alone,
    SEVERAL_PICTURES, Z_STACK, NO_SUCH_CHOICE, UNSUPPORTED_FORMAT for an image without tiles."""
    found = [
        replace(one, image=replace(one.image, plane=plane_of(one.directory), mpp=scale_of(one.directory)))
        for one in select_candidates(file)
    ]
    images, of_plane = choose_plane([one.image for one in found], choice)
    chosen = choose_pyramid(find_pyramids(images), choice)
    if not chosen.pyramid.base.is_tiled:
        raise make_untiled_error()
    directories = {one.image.number: one.directory for one in found}
    levels = tuple(directories[level.number] for level in chosen.pyramid.levels)
    return TiffScan(levels, (*of_plane, *chosen.warnings))


def select_candidates(file: Tiff) -> list[TiffImage]:
    """Return the images that may be a scan or a level of one. Images without tiles are thumbnails, labels and macros,
    unless they are larger than every image with tiles. Raises SlideRejected NOT_A_SLIDE, UNSUPPORTED_FORMAT."""
    found = list(_images(file))
    if not any(one.image.is_tiled for one in found):
        raise make_untiled_error()
    scans = [one for one in found if not is_beside(one.directory)]
    largest = max((one.image.area for one in scans if one.image.is_tiled), default=0)
    kept = [
        one
        for one in scans
        if one.image.is_tiled or (one.image.area > largest and not _flags(one.directory) & _REDUCED)
    ]
    if not kept:
        raise SlideRejected(
            RejectReason.NOT_A_SLIDE,
            "The file holds a label or an overview and no scan: send the file that the scanner wrote.",
        )
    return kept


def is_beside(directory: Directory) -> bool:
    """Return whether the image says of itself that it is a label, a macro, an overview, a thumbnail or a mask."""
    flags = _flags(directory)
    if flags & _MASK or flags == _APERIO_MACRO:
        return True
    texts = (
        directory.read_note(tag, _MOST_TEXT) for tag in (tiff.IMAGE_DESCRIPTION, tiff.PAGE_NAME) if tag in directory
    )
    # After the first "|" of Aperio's description come fields that people fill in.
    return any(_BESIDE.search(text.partition("|")[0]) for text in texts)


def make_untiled_error() -> SlideRejected:
    return make_unsupported_error(
        "The file is a TIFF without tiles: save it as a tiled pyramid, or send the scanner's file."
    )


def _images(file: Tiff) -> Iterator[TiffImage]:
    """Yield every image once, numbered in the file's order; those below a page behind it."""
    number, seen = 0, set[int]()
    pages = [(page, page.read_sub_directories()) for page in file.directories]
    below = {level.place.start for _, levels in pages for level in levels}
    for page, levels in pages:
        for directory in (page, *levels):
            if directory.place.start in seen or tiff.IMAGE_WIDTH not in directory:
                continue
            seen.add(directory.place.start)
            if len(seen) > MAX_IMAGES:
                raise make_unsupported_error(f"The file holds more than {MAX_IMAGES:,} images: export the slide alone.")
            width, height = read_image_size(directory)
            hangs = directory.place.start in below and width * height < _area(page)
            yield TiffImage(
                directory,
                StoredImage(
                    number=number,
                    width=width,
                    height=height,
                    is_tiled=tiff.TILE_WIDTH in directory and tiff.TILE_OFFSETS in directory,
                    tile=_tile(directory),
                    is_reduced=hangs or bool(_flags(directory) & _REDUCED),
                ),
            )
            number += 1


def _tile(directory: Directory) -> tuple[int, int] | None:
    width, height = (directory.read_integer(tag, 0) for tag in (tiff.TILE_WIDTH, tiff.TILE_LENGTH))
    return (width, height) if width > 0 and height > 0 else None


def _area(directory: Directory) -> int:
    width, height = read_image_size(directory)
    return width * height


def _flags(directory: Directory) -> int:
    return directory.read_integer(tiff.NEW_SUBFILE_TYPE, 0)
