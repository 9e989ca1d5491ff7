"""The layouts of TIFFs: the first one that claims a file reads it. A file that none claims goes to OpenSlide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wsi.errors import RejectReason, SlideRejected
from wsi.records.slides import Choice
from wsi.slide import tiff
from wsi.slide.coding import Codec
from wsi.slide.index import SlideIndex
from wsi.slide.layouts import aperio, generic, ndpi, ome
from wsi.slide.layouts.tiff_coding import CODECS
from wsi.slide.layouts.tiff_levels import make_unsupported_error, read_image_size
from wsi.slide.ranges import RangeSource
from wsi.slide.tiff import Tiff

#: OpenSlide reads them; the sentence is for what OpenSlide refuses too.
UNCLAIMED: Final = (
    "The file is laid out in a vendor's own way (SCN, Philips, BIF) and could not be opened: export it as SVS or as a "
    "tiled pyramidal TIFF."
)
_CLASSIC_LIMIT = 2**32  #: bytes; only NDPI stretches a classic TIFF beyond it, in a way of its own


@dataclass(frozen=True, slots=True)
class TiffLayout:
    """One layout of TIFFs. `codecs` and `refuses` are what docs/reference/formats.md says of it."""

    name: str
    claims: Callable[[Tiff], bool]
    index: Callable[[Tiff, RangeSource, Choice | None], SlideIndex]  #: raises SlideRejected
    size: Callable[[Tiff], tuple[int, int]]  #: px of the image that it takes for the slide; raises SlideRejected
    codecs: frozenset[Codec]
    refuses: str  #: in addition to what no TIFF may hold


_TAGGED: Final = frozenset(CODECS.values())  #: what the tags of any TIFF may name

TIFF_LAYOUTS: Final = (
    TiffLayout(
        "Aperio SVS",
        aperio.matches,
        aperio.index,
        lambda file: read_image_size(aperio.scan(file, None).base),
        _TAGGED,
        "focal planes without one at height 0 of which none is chosen (`focal_plane`)",
    ),
    TiffLayout(
        "Hamamatsu NDPI",
        ndpi.matches,
        ndpi.index,
        lambda file: read_image_size(ndpi.select_levels(file)[0]),
        frozenset({Codec.JPEG_RESTARTS, Codec.JPEG}),
        "grey of 16 bits, focal planes without one at height 0; restart markers of the first level that no list "
        "tells, or that do not cut its width into equal slices, are left to OpenSlide",
    ),
    TiffLayout(
        "OME-TIFF",
        ome.matches,
        ome.index,
        lambda file: read_image_size(ome.scan(file, None).channels[0][0]),
        _TAGGED,
        "focal planes, times and channels other than red, green and blue; images kept in other files; several "
        "scans of which none is chosen (`picture`)",
    ),
    TiffLayout(
        "Generic tiled TIFF",
        generic.matches,
        generic.index,
        lambda file: read_image_size(generic.scan(file, None).base),
        _TAGGED,
        "strips; several scans of which none is chosen, and grey pages of one size",
    ),
)


def read_index(source: RangeSource, choice: Choice | None = None) -> SlideIndex:
    """Return the index of the slide that a TIFF holds, of the chosen image where it holds several. Raises
    SlideRejected: TRUNCATED and DAMAGED for what no reader can open, UNSUPPORTED_PIXELS and UNSUPPORTED_FORMAT for what
    another reader may, SEVERAL_PICTURES, Z_STACK and NO_SUCH_CHOICE."""
    if choice is not None and choice.optical_path is not None:
        raise SlideRejected(
            RejectReason.NO_SUCH_CHOICE, "Only DICOM slides hold optical paths: leave the choice of one out."
        )
    parsed = tiff.parse(source)
    if not (parsed.big or parsed.ndpi) and source.size > _CLASSIC_LIMIT:
        raise make_unsupported_error("The file is larger than a classic TIFF can be: save it as BigTIFF.")
    layout = _layout(parsed)
    if layout is None:
        raise make_unsupported_error(UNCLAIMED)
    return layout.index(parsed, source, choice)


def find_chosen_size(file: Tiff) -> tuple[int, int] | None:
    """Return the size in px of the image that a layout takes for the slide; None where none claims the file. Raises
    SlideRejected."""
    layout = _layout(file)
    return None if layout is None else layout.size(file)


def _layout(file: Tiff) -> TiffLayout | None:
    return next((layout for layout in TIFF_LAYOUTS if layout.claims(file)), None)
