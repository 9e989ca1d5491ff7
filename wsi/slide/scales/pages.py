"""The scale of one page of a TIFF: what its texts and its resolution tags state, in the order of trust."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from wsi.slide import tiff
from wsi.slide.mpp import Mpp, StatedMpp, convert_resolution, is_possible, resolve
from wsi.slide.scales.numbers import find_microns
from wsi.slide.scales.quotes import quote_scale
from wsi.slide.scales.texts import SCALE_TEXTS, read
from wsi.slide.tiff import Directory, Tiff

#: Read one after the other until one states a scale, as each may cost a request to a remote file.
_TEXTS: Final = (tiff.IMAGE_DESCRIPTION, tiff.XMP, tiff.SOFTWARE, tiff.MAKE, tiff.MODEL)
#: Bytes of each that are searched, which takes some 2 s a MiB at worst; Akoya's descriptions reach 100 KB.
_MOST_TEXT: Final = 256 * 1024
_MOST_ELSEWHERE: Final = 4_096  #: bytes of the description of another page, and …
_LARGEST_DENSITY: Final = 1e6  #: px per unit; 0.05 um per px are 508,000 per inch
_MOST_PAGES: Final = 64  #: … how many of them are searched
_NO_UNIT, _INCH = 1, 2  #: values of ResolutionUnit
#: ImageJ and SCIFIO write the unit as a text, beside tags that count pixels in it (ij.io.FileInfo, ij.io.TiffEncoder).
_IMAGEJ: Final = re.compile(r"\s{0,8}(?:ImageJ|SCIFIO)=")
_IMAGEJ_UNIT: Final = re.compile(r"^(y?)unit=(.{1,24}?)\s{0,8}$", re.MULTILINE)


def read_page_mpp(file: Tiff, page: Directory, own: Sequence[StatedMpp] = ()) -> Mpp:
    """Return the scale of `page`, the file's level 0: `own` is what its layout reads itself, and is trusted most. Where
    nothing states a scale, the result quotes what looks like one. Raises SlideRejected DAMAGED or TRUNCATED for tags
    that lie outside the file."""
    complete = any(said.x is not None and said.y is not None for said in own)
    found = resolve((*own, read_resolution(page)) if complete else (*own, *read_page_scales(file, page)))
    return found if found.x is not None else replace(found, unread=_unread(file, page))


def read_page_scales(file: Tiff, page: Directory) -> tuple[StatedMpp, ...]:
    """Return what texts and tags state of `page`, in the order of trust: a copy from another slide comes after tags
    that a scanner can have. Texts of other pages count where they name the size of this one, as Aperio's do, and
    nothing on the page states a scale. Raises SlideRejected."""
    tags = read_resolution(page)
    measured = tags.x is not None and is_possible(tags.x)
    no_scales: list[tuple[StatedMpp, bool]] = []
    texts = (page.read_note(tag, _MOST_TEXT) for tag in _TEXTS)
    others = () if measured else (text for text in _elsewhere(file, page) if _names_size(text, page))
    found = next((scales for text in chain(texts, others) if (scales := _read(text, page))), no_scales)
    first = [said for said, copied in found if not copied]
    copied = [said for said, copied in found if copied]
    return (*first, tags, *copied) if measured else (*first, *copied, tags)


def read_resolution(page: Directory) -> StatedMpp:
    """Return what the resolution tags of a page state; every layout has them, and most vendors something better."""
    unit = page.read_ratio(tiff.RESOLUTION_UNIT) if tiff.RESOLUTION_UNIT in page else _INCH
    across, down = (
        convert_resolution(page.read_ratio(tag), unit or 0) for tag in (tiff.X_RESOLUTION, tiff.Y_RESOLUTION)
    )
    return StatedMpp("tiff-resolution", across, down)


def _read(text: str, page: Directory) -> list[tuple[StatedMpp, bool]]:
    """Return what a text states, and whether it was copied from another slide."""
    found = [(StatedMpp(row.source, *scale), row.inherited) for row in SCALE_TEXTS for scale in read(row, text)]
    imagej = _imagej(text, page)
    return found if imagej is None else [(imagej, False), *found]


def _names_size(text: str, page: Directory) -> bool:
    sides = "x".join(str(page.read_integer(tag, 0)) for tag in (tiff.IMAGE_WIDTH, tiff.IMAGE_LENGTH))
    return re.search(rf"(?<!\d){sides}(?!\d)", text) is not None


def _elsewhere(file: Tiff, page: Directory) -> Iterator[str]:
    others = [other for other in file.directories if other is not page and tiff.IMAGE_DESCRIPTION in other]
    yield from (other.read_note(tiff.IMAGE_DESCRIPTION, _MOST_ELSEWHERE) for other in others[:_MOST_PAGES])


def _unread(file: Tiff, page: Directory) -> str | None:
    texts = chain((page.read_note(tag, _MOST_TEXT) for tag in _TEXTS), _elsewhere(file, page))
    pieces = (piece for text in texts if (piece := quote_scale(text)) is not None)
    return next(pieces, None) or _without_unit(page)


def _without_unit(page: Directory) -> str | None:
    """Return a resolution that a scan may have and to which the file gives no unit; None without one. Writers put 1
    when they know nothing."""
    across = page.read_ratio(tiff.X_RESOLUTION)
    if across is None or not 1 < across < _LARGEST_DENSITY or page.read_ratio(tiff.RESOLUTION_UNIT) != _NO_UNIT:
        return None
    return f"XResolution = {across:.6g} without a unit"


def _imagej(text: str, page: Directory) -> StatedMpp | None:
    """Return the scale of an ImageJ text. Return None if the text names no unit of length. Return None also if the
    resolution tags have a unit of their own, and the text's unit would make an impossible scale of them: programs that
    do not know ImageJ's text leave it in the file (bioformats#3676)."""
    if not _IMAGEJ.match(text):
        return None
    units = {axis: find_microns(name.strip()) for axis, name in _IMAGEJ_UNIT.findall(text)}
    across, down = (page.read_ratio(tag) for tag in (tiff.X_RESOLUTION, tiff.Y_RESOLUTION))
    um = units.get("")
    um_down = units.get("y", um)
    if not um or not um_down or not across or not down or across < 0 or down < 0:
        return None
    x, y = um / across, um_down / down
    tagged = page.read_ratio(tiff.RESOLUTION_UNIT) not in (None, _NO_UNIT)
    return None if tagged and not is_possible(x) else StatedMpp("imagej", x, y)
