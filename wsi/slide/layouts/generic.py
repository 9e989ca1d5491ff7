"""The generic tiled pyramid, as libvips and most converters write it, with or without the flag that marks smaller
versions, as pages or below a page; and Akoya's QPTIFF of brightfield, which is one with XML in its descriptions."""

from __future__ import annotations

from collections import Counter

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice
from wsi.slide import tiff
from wsi.slide.index import SlideIndex
from wsi.slide.layouts.tiff_images import TiffScan, candidates, find_scan
from wsi.slide.layouts.tiff_levels import slide_index
from wsi.slide.ranges import RangeSource
from wsi.slide.scales.pages import page_mpp, resolution
from wsi.slide.tiff import Directory, Tiff

_READ_XML = ("vips.ecs.soton.ac.uk", "PerkinElmer-QPI")  #: in the first characters of a description that is XML
_HEAD = 400
_ARGOS_METADATA = 65000  #: a tag of XML


def claims(file: Tiff) -> bool:
    """Leaves alone what another vendor's reader must interpret: SCN, Philips, BIF, Trestle, Argos."""
    first = file.directories[0]
    description = first.note(tiff.IMAGE_DESCRIPTION, tiff.MAX_TEXT).lstrip("\ufeff \r\n\t")
    is_read = any(name in description[:_HEAD] for name in _READ_XML)
    vendor = tiff.NDPI_VERSION in first or (description.startswith("<") and not is_read)
    if b"Argos.Scan.Metadata" in (first.data(_ARGOS_METADATA) or b"")[:_HEAD]:
        return False  # Planes of focus of one size, of which the XML says the middle one (openslide-vendor-argos.c).
    return not (vendor or b"iScan" in (first.data(tiff.XMP) or b"") or first.text(tiff.SOFTWARE).startswith("MedScan"))


def scan(file: Tiff, choice: Choice | None) -> TiffScan:
    """Raises SlideRejected: what `find_scan` raises, and FLUORESCENCE."""
    found = [one.directory for one in candidates(file)]
    if choice is None or choice.picture is None:
        _check_channels(found)
    scales = {directory.place.start: resolution(directory).x for directory in found}
    differ = len(set(scales.values())) > 1  # Many writers repeat the first page's resolution in all others.
    return find_scan(file, choice, scale_of=lambda directory: scales[directory.place.start] if differ else None)


def index(file: Tiff, source: RangeSource, choice: Choice | None) -> SlideIndex:
    """Raises SlideRejected."""
    found = scan(file, choice)
    return slide_index(
        source,
        found.levels,
        format="tiff",
        vendor=None,
        mpp=page_mpp(file, found.base),
        warnings=found.warnings,
        sparse=True,  # As the Philips SDK and GDAL write them (openslide#546); an SVS that lacks tiles lost them.
    )


def _check_channels(directories: list[Directory]) -> None:
    """Raises SlideRejected FLUORESCENCE for grey images of one size, as fluorescence stores its channels."""
    grey = [directory for directory in directories if directory.integer(tiff.SAMPLES_PER_PIXEL, 1) == 1]
    sizes = Counter((one.integer(tiff.IMAGE_WIDTH, 0), one.integer(tiff.IMAGE_LENGTH, 0)) for one in grey)
    largest = max(sizes, key=lambda size: size[0] * size[1], default=None)
    if largest is not None and len(grey) == len(directories) and sizes[largest] > 1:
        raise SlideRejected(
            RejectReason.FLUORESCENCE,
            f"The file holds {sizes[largest]:,} grey images of the same size, as fluorescence does: export its "
            "brightfield image, or choose one of them (`picture`).",
        )
