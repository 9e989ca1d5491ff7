"""The limits of what is read, each with the largest real value known: a table of docs/formats.md.

A limit is the code's own constant. A real value comes from a public report; where none was found, the row says so, and
the limit stands on arithmetic. Whoever meets a larger real value writes it here and raises the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gpu_worker.models.wsinfer import MAX_CONFIG_BYTES, MAX_UNPACKED
from gpu_worker.models.wsinfer import MAX_SIDE as MAX_MODEL_SIDE
from wsi.counting import MAX_BOXES
from wsi.digests import PART_SIZE
from wsi.grid import MAX_LEVEL_SIDE
from wsi.outline import MAX_VERTICES
from wsi.region_geojson import FARTHEST, MAX_BYTES, MAX_POINTS
from wsi.slide import tiff
from wsi.slide.dicom import elements, fields, passage, pixels
from wsi.slide.dicom.frames import MAX_FRAMES, MAX_WALK
from wsi.slide.layouts import ndpi, ome_xml, tiff_images, tiff_levels
from wsi.slide.opening import MAX_SCRATCH
from wsi.slide.parts import MAX_LIST
from wsi.slide.windows import MAX_PREFETCH
from wsi.upload_rules import MAX_FILES, MAX_PARTS_A_FILE

_KIB: Final = 1024
_GITHUB: Final = "https://github.com/"
_NONE: Final = "none found"
_UNSOURCED: Final = "no public source"


@dataclass(frozen=True, slots=True)
class Limit:
    what: str
    most: str
    known: str  #: the largest real value
    source: str  #: of that value, as Markdown


def limits() -> tuple[Limit, ...]:
    """Return every row, in the order in which a file is read."""
    return (*_uploads(), *_tiff(), *_dicom(), *_plans(), *_models())


def _uploads() -> tuple[Limit, ...]:
    return (
        Limit(
            "Bytes of an uploaded file",
            _bytes(MAX_PARTS_A_FILE * PART_SIZE),
            "hundreds of GB",
            f"{_issue('DigitalSlideArchive/digital_slide_archive', 205)}; such a file is registered where it is",
        ),
        Limit("Files of a slide", f"{MAX_FILES:,}", "46 parts of one DICOM level", _dicomizer(128)),
        Limit(
            "Bytes copied for OpenSlide",
            f"{_bytes(MAX_SCRATCH)} unless the worker is set otherwise",
            _NONE,
            "formats with an index of ours are not copied",
        ),
        Limit("Bytes of Slidedat.ini and its kind", _bytes(MAX_LIST), "200 KB", _UNSOURCED),
    )


def _tiff() -> tuple[Limit, ...]:
    return (
        Limit(
            "Pixels a side of a level",
            f"{tiff_levels.MAX_SIDE:,}",
            "250,000",
            f"{_issue('libvips/libvips', 1830)}; {_issue('openslide/openslide-python', 120)}: 25,491,013,632 px in all",
        ),
        Limit(
            "Pixels of a tile",
            f"{tiff_levels.MAX_TILE_PIXELS:,} (4,096 x 4,096); larger tiles are left to OpenSlide",
            "more than 4,096 a side",
            f"{_issue('openslide/openslide', 86)}; {_issue('openslide/openslide.github.io', 9)}: 1,500 of Histobox",
        ),
        Limit("Pages, and images below one page", f"{tiff.MAX_DIRECTORIES:,}", "300 planes of focus", _UNSOURCED),
        Limit("Images of a file", f"{tiff_images.MAX_IMAGES:,}", "2,400: 300 planes of 8 levels", "arithmetic"),
        Limit("Tags of a page", f"{tiff.MAX_ENTRIES:,}", _NONE, ""),
        Limit("Tags of a file", f"{tiff.MAX_TAGS:,}", "9,000 (300 planes)", "arithmetic"),
        Limit("Bytes of a text", _bytes(tiff.MAX_TEXT), _NONE, ""),
        Limit("Bytes of an OME description", _bytes(tiff.MAX_DESCRIPTION), "60 MB", _pull("ome/bioformats", 3418)),
        Limit("Images of an OME description", f"{ome_xml.MAX_IMAGES:,}", "384: a plate's wells", "arithmetic"),
        Limit(
            "Channels and places of planes of an OME description",
            f"{ome_xml.MAX_PLANES:,}",
            "144,000 in 200 files, no slide",
            _pull("ome/bioformats", 3418),
        ),
        Limit(
            "Bytes of a list of places of tiles",
            f"{_bytes(tiff.MAX_ARRAY)}: 16 million tiles",
            "1 million tiles: 250,000 px a side in tiles of 256",
            _issue("libvips/libvips", 1830),
        ),
        Limit("Bytes of lists of places fetched at once", _bytes(MAX_PREFETCH), "8 MB", "as above, at 8 bytes a place"),
        Limit("Bytes of an ICC profile in TIFF", "none: nothing of it is read", _NONE, ""),
        Limit(
            "Pixels a side of one JPEG of an NDPI level without slices",
            f"{ndpi.MAX_JPEG_SIDE:,}",
            "65,500",
            "JPEG_MAX_DIMENSION of libjpeg",
        ),
        Limit("Bytes of an NDPI file", "2^64", "30 GB", _pull("openslide/openslide", 276)),
    )


def _dicom() -> tuple[Limit, ...]:
    return (
        Limit(
            "Frames of a file",
            f"{MAX_FRAMES:,}",
            "250,000",
            f"{_pull('fo-dicom/fo-dicom', 1372)}, {_issue('imi-bigpicture/wsidicom', 92)}: 180,000",
        ),
        Limit("Pixels of a frame", f"{pixels.MAX_TILE:,} (4,096 x 4,096)", _NONE, ""),
        Limit("Bytes of a value that is read", _bytes(passage.MAX_VALUE), "2 MB: places of 250,000 frames", "as above"),
        Limit(
            "Bytes of a value that is not needed (colour profiles)",
            "none: it is jumped over",
            "13 MB",
            _UNSOURCED,
        ),
        Limit("Elements of a header", f"{fields._MAX_ELEMENTS:,}", _NONE, ""),
        Limit("Bytes of a header that are fetched", _bytes(fields._MAX_FETCHED), _NONE, ""),
        Limit(
            "Elements that describe frames",
            f"{elements._MAX_DESCRIBING:,}",
            "3 million: 180,000 frames",
            _issue("imi-bigpicture/wsidicom", 92),
        ),
        Limit(
            "Bytes walked for places of frames without an offset table",
            _bytes(MAX_WALK),
            "5.8 GB",
            _dicomizer(138),
        ),
        Limit("Depth of sequences in sequences", f"{elements._MAX_DEPTH}", _NONE, ""),
    )


def _plans() -> tuple[Limit, ...]:
    return (
        Limit(
            "Tiles of a grid, tissue or not",
            f"{MAX_BOXES:,}",
            "15 million: 250,000 px in boxes of 64",
            "arithmetic",
        ),
        Limit("Pixels a side that one box of a model covers", f"{MAX_LEVEL_SIDE:,}", _NONE, ""),
        Limit(
            "Bytes of a region's file, unpacked",
            _bytes(MAX_BYTES),
            "725,000 cells, which are no region",
            _pull("msk-mind/luna", 390),
        ),
        Limit(
            "Points of a region",
            f"{MAX_POINTS:,}, of which {MAX_VERTICES:,} are kept after thinning",
            "those of 105,513 cells, which are no region",
            _issue("TissUUmaps/TissUUmaps", 73),
        ),
        Limit(
            "Pixels of a region's point from the origin",
            f"{FARTHEST:,}",
            "250,000",
            _issue("libvips/libvips", 1830),
        ),
    )


def _models() -> tuple[Limit, ...]:
    return (
        Limit("Pixels a side of a model's input", f"{MAX_MODEL_SIDE:,}", _NONE, ""),
        Limit("Bytes of a model's config.json", _bytes(MAX_CONFIG_BYTES), _NONE, ""),
        Limit(
            "Bytes that a TorchScript archive has more when unpacked",
            _bytes(MAX_UNPACKED),
            "torch packs source text alone",
            "torch's writer",
        ),
        Limit(
            "Time and memory of `tessera models check`",
            "30 minutes and 16 GiB unless stated (`--minutes`, `--memory`)",
            "4.5 GB: 1.1 billion weights in fp32",
            "Prov-GigaPath (Nature 630, 2024), arithmetic",
        ),
    )


def _bytes(size: int) -> str:
    """ "64 MiB"."""
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
