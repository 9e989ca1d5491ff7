"""The generic tiled pyramid, as libvips and most converters write it, with or without the flag that marks smaller
versions, as pages or below a page; and Akoya's QPTIFF of brightfield, which is one with XML in its descriptions."""

from __future__ import annotations

from collections import Counter

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice
from wsi.slide import tiff
from wsi.slide.index import SlideIndex
from wsi.slide.layouts.tiff_images import TiffScan, find_scan, select_candidates
from wsi.slide.layouts.tiff_levels import build_slide_index
from wsi.slide.ranges import RangeSource
from wsi.slide.scales.pages import read_page_mpp, read_resolution
from wsi.slide.tiff import Directory, Tiff

_READ_XML = ("vips.ecs.soton.ac.uk", "PerkinElmer-QPI")  #: in the first characters of a description that is XML
_HEAD = 400
_ARGOS_METADATA = 65000  #: a tag of XML


def matches(file: Tiff) -> bool:
    """Return False for what another vendor's reader must interpret: SCN, Philips, BIF, Trestle, Argos."""
    first = file.directories[0]
    description = first.read_note(tiff.IMAGE_DESCRIPTION, tiff.MAX_TEXT).lstrip("\ufeff \r\n\t")
    is_read = any(name in description[:_HEAD] for name in _READ_XML)
    vendor = tiff.NDPI_VERSION in first or (description.startswith("<") and not is_read)
    if b"Argos.Scan.Metadata" in (first.read_data(_ARGOS_METADATA) or b"")[:_HEAD]:
        return False  # Planes of focus of one size, of which the XML says the middle one (openslide-vendor-argos.c).
    return not (
        vendor or b"iScan" in (first.read_data(tiff.XMP) or b"") or first.read_text(tiff.SOFTWARE).startswith("MedScan")
    )


def scan(file: Tiff, choice: Choice | None) -> TiffScan:
    """Return the slide among the images. Raises SlideRejected: what `find_scan` raises, and FLUORESCENCE."""
    found = [one.directory for one in select_candidates(file)]
    if choice is None or choice.picture is None:
        _check_channels(found)
    scales = {directory.place.start: read_resolution(directory).x for directory in found}
    differ = len(set(scales.values())) > 1  # Many writers repeat the first page's resolution in all others.
    return find_scan(file, choice, scale_of=lambda directory: scales[directory.place.start] if differ else None)


def index(file: Tiff, source: RangeSource, choice: Choice | None) -> SlideIndex:
    """Return the index of the slide. Raises SlideRejected."""
    found = scan(file, choice)
    return build_slide_index(
        source,
        found.levels,
        format="tiff",
        vendor=None,
        mpp=read_page_mpp(file, found.base),
        warnings=found.warnings,
        sparse=True,  # As the Philips SDK and GDAL write them (openslide#546); an SVS that lacks tiles lost them.
    )


def _check_channels(directories: list[Directory]) -> None:
    """Raise SlideRejected FLUORESCENCE if all images are grey and several have the largest size, as fluorescence stores
    its channels."""
    grey = [directory for directory in directories if directory.read_integer(tiff.SAMPLES_PER_PIXEL, 1) == 1]
    sizes = Counter((one.read_integer(tiff.IMAGE_WIDTH, 0), one.read_integer(tiff.IMAGE_LENGTH, 0)) for one in grey)
    largest = max(sizes, key=lambda size: size[0] * size[1], default=None)
    if largest is not None and len(grey) == len(directories) and sizes[largest] > 1:
        raise SlideRejected(
            RejectReason.FLUORESCENCE,
            f"The file holds {sizes[largest]:,} grey images of the same size, as fluorescence does: export its "
            "brightfield image, or choose one of them (`picture`).",
        )
