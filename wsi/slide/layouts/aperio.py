"""Aperio SVS, and what other scanners write in its manner: levels are tiled pages; thumbnail, label and macro mostly
lie in strips. Descriptions begin with "Aperio" and hold the microns per pixel and, of a stack, the height of the plane
(OffsetZ, in um).

Source: openslide.org/formats/aperio; tifffile#193 for focal planes.
"""

from __future__ import annotations

import re
from typing import Final

from wsi.records.slides import Choice
from wsi.slide import tiff
from wsi.slide.index import SlideIndex
from wsi.slide.layouts.tiff_images import TiffScan, find_scan
from wsi.slide.layouts.tiff_levels import build_slide_index
from wsi.slide.ranges import RangeSource
from wsi.slide.scales.pages import read_page_mpp
from wsi.slide.tiff import Directory, Tiff

_HEIGHT: Final = re.compile(r"\|\s*OffsetZ\s*=\s*([-+]?\d{1,6}(?:[.,]\d{1,6})?)\s*(?:\||$)")


def matches(file: Tiff) -> bool:
    return any(page.read_note(tiff.IMAGE_DESCRIPTION, 64).startswith("Aperio") for page in file.directories[:2])


def scan(file: Tiff, choice: Choice | None) -> TiffScan:
    """Return the slide among the images. Raises SlideRejected: what `find_scan` raises."""
    return find_scan(file, choice, plane_of=_read_plane_height)


def index(file: Tiff, source: RangeSource, choice: Choice | None) -> SlideIndex:
    """Return the index of the slide. Raises SlideRejected."""
    found = scan(file, choice)
    return build_slide_index(
        source,
        found.levels,
        format="svs",
        vendor="aperio",
        mpp=read_page_mpp(file, found.base),
        warnings=found.warnings,
    )


def _read_plane_height(page: Directory) -> float:
    """Return the height of the page's focal plane (OffsetZ, in um); 0.0 if its description states none."""
    found = _HEIGHT.search(page.read_text(tiff.IMAGE_DESCRIPTION))
    return float(found[1].replace(",", ".")) if found else 0.0
