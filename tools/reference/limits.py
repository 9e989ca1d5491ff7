"""The limits of what is read, each with the largest real value known: a table of docs/reference/formats.md.

A limit is the code's own constant. A real value comes from a public report; where none was found, the row says so, and
the limit rests on arithmetic. If you meet a larger real value, write it here and raise the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from inference.models.wsinfer import MAX_CONFIG_BYTES, MAX_UNPACKED
from inference.models.wsinfer import MAX_SIDE as MAX_MODEL_SIDE
from wsi.digests import PART_SIZE
from wsi.planning.grid import MAX_LEVEL_SIDE
from wsi.planning.region_geojson import FARTHEST, MAX_BYTES, MAX_POINTS
from wsi.planning.scale import MAX_BOXES
from wsi.records.outline import MAX_VERTICES
from wsi.slide import tiff
from wsi.slide.dicom import buffered_range_reader, elements, fields, pixels
from wsi.slide.dicom.frames import MAX_FRAMES, MAX_WALK
from wsi.slide.files.parts import MAX_LIST
from wsi.slide.files.scratch import MAX_SCRATCH
from wsi.slide.layouts import ndpi, ome_xml, tiff_images, tiff_levels
from wsi.slide.windows import MAX_PREFETCH
from wsi.uploads.rules import MAX_FILES, MAX_PARTS_A_FILE

_KIB: Final = 1024
_GITHUB: Final = "https://github.com/"
_NONE: Final = "none found"
_UNSOURCED: Final = "no public source"


@dataclass(frozen=True, slots=True)
class DocumentedLimit:
    what: str
    most: str
    known: str  #: the largest real value
    source: str  #: of that value, as Markdown


def list_limits() -> tuple[DocumentedLimit, ...]:
    """Return every row, in the order in which a file is read."""
    return (*_uploads(), *_tiff(), *_dicom(), *_plans(), *_models())


def _uploads() -> tuple[DocumentedLimit, ...]:
    return (
        DocumentedLimit(
            "Bytes of an uploaded file",
            _bytes(MAX_PARTS_A_FILE * PART_SIZE),
            "hundreds of GB",
            f"{_issue('DigitalSlideArchive/digital_slide_archive', 205)}; such a file is registered by reference",
        ),
        DocumentedLimit("Files of a slide", f"{MAX_FILES:,}", "46 parts of one DICOM level", _dicomizer(128)),
        DocumentedLimit(
            "Bytes copied for OpenSlide",
            f"{_bytes(MAX_SCRATCH)} unless the worker is configured otherwise",
            _NONE,
            "formats that are read natively are not copied",
        ),
        DocumentedLimit("Bytes of Slidedat.ini and similar files", _bytes(MAX_LIST), "200 KB", _UNSOURCED),
    )


def _tiff() -> tuple[DocumentedLimit, ...]:
    return (
        DocumentedLimit(
            "Pixels a side of a level",
            f"{tiff_levels.MAX_SIDE:,}",
            "250,000",
            f"{_issue('libvips/libvips', 1830)}; {_issue('openslide/openslide-python', 120)}: 25,491,013,632 px in all",
        ),
        DocumentedLimit(
            "Pixels of a tile",
            f"{tiff_levels.MAX_TILE_PIXELS:,} (4,096 x 4,096); larger tiles are read by OpenSlide",
            "more than 4,096 a side",
            f"{_issue('openslide/openslide', 86)}; {_issue('openslide/openslide.github.io', 9)}: 1,500 of Histobox",
        ),
        DocumentedLimit(
            "Pages, and images below one page", f"{tiff.MAX_DIRECTORIES:,}", "300 focal planes", _UNSOURCED
        ),
        DocumentedLimit(
            "Images of a file", f"{tiff_images.MAX_IMAGES:,}", "2,400: 300 planes of 8 levels", "arithmetic"
        ),
        DocumentedLimit("Tags of a page", f"{tiff.MAX_ENTRIES:,}", _NONE, ""),
        DocumentedLimit("Tags of a file", f"{tiff.MAX_TAGS:,}", "9,000 (300 planes)", "arithmetic"),
        DocumentedLimit("Bytes of a text", _bytes(tiff.MAX_TEXT), _NONE, ""),
        DocumentedLimit(
            "Bytes of an OME description", _bytes(tiff.MAX_DESCRIPTION), "60 MB", _pull("ome/bioformats", 3418)
        ),
        DocumentedLimit(
            "Images of an OME description", f"{ome_xml.MAX_IMAGES:,}", "384: a plate's wells", "arithmetic"
        ),
        DocumentedLimit(
            "Channels and plane positions of an OME description",
            f"{ome_xml.MAX_PLANES:,}",
            "144,000 in 200 files, no slide",
            _pull("ome/bioformats", 3418),
        ),
        DocumentedLimit(
            "Bytes of a list of tile offsets",
            f"{_bytes(tiff.MAX_ARRAY)}: 16 million tiles",
            "1 million tiles: 250,000 px a side in tiles of 256",
            _issue("libvips/libvips", 1830),
        ),
        DocumentedLimit(
            "Bytes of offset lists fetched at once", _bytes(MAX_PREFETCH), "8 MB", "as above, at 8 bytes an offset"
        ),
        DocumentedLimit("Bytes of an ICC profile in TIFF", "none: it is not read", _NONE, ""),
        DocumentedLimit(
            "Pixels a side of one JPEG of an NDPI level without slices",
            f"{ndpi.MAX_JPEG_SIDE:,}",
            "65,500",
            "JPEG_MAX_DIMENSION of libjpeg",
        ),
        DocumentedLimit("Bytes of an NDPI file", "2^64", "30 GB", _pull("openslide/openslide", 276)),
    )


def _dicom() -> tuple[DocumentedLimit, ...]:
    return (
        DocumentedLimit(
            "Frames of a file",
            f"{MAX_FRAMES:,}",
            "250,000",
            f"{_pull('fo-dicom/fo-dicom', 1372)}, {_issue('imi-bigpicture/wsidicom', 92)}: 180,000",
        ),
        DocumentedLimit("Pixels of a frame", f"{pixels.MAX_TILE:,} (4,096 x 4,096)", _NONE, ""),
        DocumentedLimit(
            "Bytes of a value that is read",
            _bytes(buffered_range_reader.MAX_VALUE),
            "2 MB: offsets of 250,000 frames",
            "as above",
        ),
        DocumentedLimit(
            "Bytes of a value that is not needed (colour profiles)",
            "none: it is skipped",
            "13 MB",
            _UNSOURCED,
        ),
        DocumentedLimit("Elements of a header", f"{fields._MAX_ELEMENTS:,}", _NONE, ""),
        DocumentedLimit("Bytes of a header that are fetched", _bytes(fields._MAX_FETCHED), _NONE, ""),
        DocumentedLimit(
            "Elements that describe frames",
            f"{elements._MAX_DESCRIBING:,}",
            "3 million: 180,000 frames",
            _issue("imi-bigpicture/wsidicom", 92),
        ),
        DocumentedLimit(
            "Bytes scanned for frames without an offset table",
            _bytes(MAX_WALK),
            "5.8 GB",
            _dicomizer(138),
        ),
        DocumentedLimit("Depth of nested sequences", f"{elements._MAX_DEPTH}", _NONE, ""),
    )


def _plans() -> tuple[DocumentedLimit, ...]:
    return (
        DocumentedLimit(
            "Tiles of a grid, tissue or not",
            f"{MAX_BOXES:,}",
            "15 million: 250,000 px in boxes of 64",
            "arithmetic",
        ),
        DocumentedLimit("Pixels a side of the slide that one tile of a model covers", f"{MAX_LEVEL_SIDE:,}", _NONE, ""),
        DocumentedLimit(
            "Bytes of a region's file, unpacked",
            _bytes(MAX_BYTES),
            "725,000 cells, which are not a region",
            _pull("msk-mind/luna", 390),
        ),
        DocumentedLimit(
            "Points of a region",
            f"{MAX_POINTS:,}, of which {MAX_VERTICES:,} are kept after thinning",
            "those of 105,513 cells, which are not a region",
            _issue("TissUUmaps/TissUUmaps", 73),
        ),
        DocumentedLimit(
            "Pixels of a region's point from the origin",
            f"{FARTHEST:,}",
            "250,000",
            _issue("libvips/libvips", 1830),
        ),
    )


def _models() -> tuple[DocumentedLimit, ...]:
    return (
        DocumentedLimit("Pixels a side of a model's input", f"{MAX_MODEL_SIDE:,}", _NONE, ""),
        DocumentedLimit("Bytes of a model's config.json", _bytes(MAX_CONFIG_BYTES), _NONE, ""),
        DocumentedLimit(
            "Bytes by which a TorchScript archive grows when unpacked",
            _bytes(MAX_UNPACKED),
            "torch compresses source text only",
            "torch's writer",
        ),
        DocumentedLimit(
            "Time and memory of `tessera models check`",
            "30 minutes and 16 GiB unless stated (`--minutes`, `--memory`)",
            "4.5 GB: 1.1 billion weights in fp32",
            "Prov-GigaPath (Nature 630, 2024), arithmetic",
        ),
    )


def _bytes(size: int) -> str:
    """Return a size in its largest binary unit, rounded down: "64 MiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < _KIB or unit == "GiB":
            break
        size //= _KIB
    return f"{size:,} {unit}"


def _issue(repository: str, number: int) -> str:
    return f"[{repository.rpartition('/')[2]}#{number}]({_GITHUB}{repository}/issues/{number})"


def _pull(repository: str, number: int) -> str:
    return f"[{repository.rpartition('/')[2]} PR {number}]({_GITHUB}{repository}/pull/{number})"


def _dicomizer(number: int) -> str:
    return _issue("imi-bigpicture/wsidicomizer", number)
