"""OME-TIFF: the OME-XML in the first page's description lists the images, their pages and sizes; the smaller levels of
an image hang below its page (SubIFDs), or are images of their own. Red, green and blue lie together in one page, in
three planes of it, or in three pages.

Source: OME-TIFF specification 6 (docs.openmicroscopy.org/ome-model). OpenSlide shows the first level alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice
from wsi.slide import tiff
from wsi.slide.coding import Colour
from wsi.slide.index import LevelIndex, SlideIndex, TileExtents
from wsi.slide.layouts import ome_xml
from wsi.slide.layouts.ome_xml import Ome, OmeChannel, OmeImage
from wsi.slide.layouts.pyramids import (
    StoredImage,
    choose_plane,
    choose_pyramid,
    find_pyramids,
    shows_same_field,
)
from wsi.slide.layouts.tiff_levels import build_slide_index, make_unsupported_error, read_image_size, read_shape
from wsi.slide.mpp import StatedMpp
from wsi.slide.ranges import RangeSource
from wsi.slide.scales.pages import read_page_mpp
from wsi.slide.tiff import Directory, Tiff, make_damaged_error

#: Images next to the slide, as Bio-Formats and scanners name them.
_BESIDE: Final = re.compile(r"(label|macro|thumbnail|overview|preview)( image)?", re.IGNORECASE)
_NAMELESS: Final = re.compile(r"((channel|ch|c)?[ :_-]*\d*)", re.IGNORECASE)
_NAMES: Final = (("red", "r"), ("green", "g"), ("blue", "b"))
_COLOURS: Final = (0xFF0000, 0x00FF00, 0x0000FF)
_GREY: Final = frozenset({"grey", "gray", "brightfield", "bf", "transmitted", "tl"})
_ONE_FILE: Final = "export the slide as one OME-TIFF file"


def matches(file: Tiff) -> bool:
    return read_description(file).rstrip().endswith("OME>")


def read_description(file: Tiff) -> str:
    """Return the OME-XML, or what is in its place."""
    return file.directories[0].read_text(tiff.IMAGE_DESCRIPTION, tiff.MAX_DESCRIPTION)


@dataclass(frozen=True, slots=True)
class OmeScan:
    """The slide among the images of an OME-TIFF."""

    image: OmeImage  #: its largest level
    channels: tuple[tuple[Directory, ...], ...]  #: the levels of one page that holds all samples, or of one a channel
    in_one_image: bool  #: False: some levels are images of their own in the description
    warnings: tuple[str, ...]


def scan(file: Tiff, choice: Choice | None) -> OmeScan:
    """Return the slide among the images. Raises SlideRejected: MISSING_FILES, Z_STACK, FLUORESCENCE, BIT_DEPTH for
    what no reader here takes, SEVERAL_PICTURES, NO_SUCH_CHOICE, DAMAGED."""
    ome = ome_xml.parse(read_description(file))
    if ome.elsewhere:
        raise _missing(f"The file is one of a set that a companion file (.companion.ome) describes: {_ONE_FILE}.")
    images = {number: image for number, image in enumerate(ome.images) if not _BESIDE.fullmatch(image.name.strip())}
    if not images:
        raise make_unsupported_error("The file's OME description names no picture of the slide.")
    stored = [_make_stored_image(file, number, image, alone=number == 0) for number, image in images.items()]
    chosen = choose_pyramid(find_pyramids(choose_plane(stored, choice)[0]), choice)
    base, *smaller = (images[level.number] for level in chosen.pyramid.levels)
    _check_files(ome, base)
    told = _brightfield(base)
    pages = _pages(file, base, alone=base is ome.images[0])
    pages[0].prefetch(pages[1:], (tiff.TILE_OFFSETS, tiff.TILE_BYTE_COUNTS, tiff.SUB_DIRECTORIES))
    channels = [select_levels(page) for page in pages]
    for image in smaller:
        for channel, page in zip(channels, _pages(file, image, alone=image is ome.images[0]), strict=True):
            channel.append(page)
    return OmeScan(base, tuple(map(tuple, channels)), not smaller, (*told, *chosen.warnings))


def index(file: Tiff, source: RangeSource, choice: Choice | None) -> SlideIndex:
    """Return the index of the slide. Raises SlideRejected: what `scan` raises, and DAMAGED."""
    found = scan(file, choice)
    image, channels = found.image, found.channels
    first = channels[0][0]
    said = read_page_mpp(file, first, (StatedMpp("ome", image.mpp_x, image.mpp_y),))
    if read_shape(first)[:2] != (image.width, image.height):
        raise make_damaged_error("The file's OME description gives the slide another size than its page.")
    if any(
        [read_shape(level) for level in channel] != [read_shape(level) for level in channels[0]] for channel in channels
    ):
        raise make_damaged_error("The file's channels differ in size.")
    indexes = [
        build_slide_index(source, channel, format="ome-tiff", vendor=None, mpp=said, warnings=found.warnings)
        for channel in channels
    ]
    if len(indexes) == 1:
        return indexes[0]
    joined = tuple(_join_channels(level) for level in zip(*(each.levels for each in indexes), strict=True))
    return replace(indexes[0], levels=joined)


def _make_stored_image(file: Tiff, number: int, image: OmeImage, *, alone: bool) -> StoredImage:
    """Return the image by its description, and whether it has tiles by its page, where that is named."""
    place = image.planes[0].directory if image.planes else 0 if alone else None
    page = file.directories[place] if place is not None and place < len(file.directories) else None
    mpp_x, mpp_y = image.mpp_x, image.mpp_y
    return StoredImage(
        number=number,
        width=image.width,
        height=image.height,
        mpp=mpp_x if mpp_x is not None and mpp_y is not None else None,
        is_tiled=page is None or tiff.TILE_WIDTH in page,
    )


def _check_files(ome: Ome, image: OmeImage) -> None:
    named = {planes.uuid for planes in image.planes if planes.uuid}
    others = named - {ome.uuid} if ome.uuid else named if len(named) > 1 else set[str]()
    if others:
        raise _missing(f"The slide's planes lie in {len(others)} other files of a set: {_ONE_FILE}.")


def _brightfield(image: OmeImage) -> tuple[str, ...]:
    """Return warnings. Raises SlideRejected unless the image is in red, green and blue, or grey, of 8 bits."""
    if image.depth > 1 or image.times > 1:
        what = f"{image.depth} focal planes" if image.depth > 1 else f"{image.times} points in time"
        raise SlideRejected(RejectReason.Z_STACK, f"The file holds {what}: export a single plane.")
    together = len(image.channels) <= 1 and image.samples in (3, 4)
    told = None if together else _classify_colours(image.samples, image.channels)
    if not together and told is None:
        raise SlideRejected(
            RejectReason.FLUORESCENCE,
            f"The file holds {image.samples} channels other than red, green and blue: models read brightfield slides.",
        )
    if image.type not in ("uint8", ""):
        raise SlideRejected(
            RejectReason.BIT_DEPTH, f"The file stores samples of type {image.type[:20]}: export it with 8 bits (uint8)."
        )
    unnamed = "The file does not name its three channels; they are read as red, green and blue."
    return (unnamed,) if told is False else ()


def _classify_colours(samples: int, channels: Sequence[OmeChannel]) -> bool | None:
    """Return True if the names or colours of the channels say that they are red, green and blue, or grey; False if they
    say nothing; None if they say something else."""
    if any(channel.fluorescent or channel.samples != 1 for channel in channels) or len(channels) not in (0, samples):
        return None
    nameless = all(_NAMELESS.fullmatch(channel.name) for channel in channels)
    if samples == 1:
        return True if nameless or channels[0].name.lower() in _GREY else None
    if samples != 3:
        return None
    if not nameless:
        named = zip(channels, _NAMES, strict=True)
        return True if all(channel.name.lower() in names for channel, names in named) else None
    colours = [channel.colour >> 8 for channel in channels if channel.colour is not None]
    if tuple(colours) == _COLOURS:
        return True
    return False if len(set(colours)) <= 1 else None  # One colour for all, such as white, says nothing.


def _pages(file: Tiff, image: OmeImage, *, alone: bool) -> tuple[Directory, ...]:
    """Return the page that holds all samples, or one page a channel."""
    places: dict[int, int] = {}
    for planes in image.planes:
        count = planes.count or (image.samples if planes.directory is None else 1)
        if planes.directory is None and not alone:
            raise make_damaged_error("The file's OME description does not say where the slide lies.")
        for step in range(min(count, image.samples)):
            places[planes.channel + step] = (planes.directory or 0) + step
    if not places and alone:  # Without any place, the first picture's planes are the first pages.
        places = {channel: channel for channel in range(image.samples)}
    first = _page(file, places.get(0))
    stored = first.read_integer(tiff.SAMPLES_PER_PIXEL, 1)
    if stored == image.samples:
        return (first,)
    if stored != 1 or image.samples != 3:
        raise make_damaged_error("The file's OME description gives the slide another number of channels than its page.")
    return tuple(_page(file, places.get(channel)) for channel in range(3))


def _page(file: Tiff, place: int | None) -> Directory:
    if place is None or place >= len(file.directories):
        raise make_damaged_error("The file's OME description points at a page that is not there.")
    page = file.directories[place]
    if tiff.TILE_WIDTH not in page:
        raise make_unsupported_error("The file is an OME-TIFF without tiles: save it as a tiled pyramid.")
    return page


def select_levels(page: Directory) -> list[Directory]:
    """Return the levels of one page, largest first."""
    smaller = [below for below in page.read_sub_directories() if tiff.TILE_WIDTH in below and _is_level(below, page)]
    return sorted((page, *smaller), key=lambda level: -read_shape(level)[0])


def _is_level(below: Directory, page: Directory) -> bool:
    (width, height), (page_width, page_height) = read_image_size(below), read_image_size(page)
    smaller = StoredImage(number=1, width=width, height=height, is_reduced=True)
    return width < page_width and shows_same_field(smaller, StoredImage(number=0, width=page_width, height=page_height))


def _join_channels(channels: Sequence[LevelIndex]) -> LevelIndex:
    """Join three grey levels to one of red, green and blue, with three pieces a tile. Raises SlideRejected."""
    first = channels[0]
    codings = [replace(channel.coding, colour=Colour.RGB, planes=True) for channel in channels]
    if any(channel.coding != first.coding for channel in channels) or first.coding.colour is not Colour.GREY:
        raise make_unsupported_error("The file's channels are packed in different ways.")
    tiles = len(first.pieces.first) - 1
    files, offsets, sizes = (
        np.stack([getattr(channel.pieces, name) for channel in channels], axis=1).ravel()
        for name in ("files", "offsets", "sizes")
    )
    pieces = TileExtents(3 * np.arange(tiles + 1, dtype=np.int64), files, offsets, sizes)
    return replace(first, coding=codings[0], pieces=pieces)


def _missing(sentence: str) -> SlideRejected:
    return SlideRejected(RejectReason.MISSING_FILES, sentence)
