"""Which layout reads a TIFF: the first one that claims it. What none claims goes to OpenSlide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wsi.slide import tiff
from wsi.slide.index import SlideIndex
from wsi.slide.layouts import aperio, generic, ndpi, ome
from wsi.slide.layouts.tiff_levels import unsupported
from wsi.slide.ranges import RangeSource
from wsi.slide.tiff import Tiff

_CLASSIC_LIMIT = 2**32  #: bytes; only NDPI stretches a classic TIFF beyond it, in a way of its own


@dataclass(frozen=True, slots=True)
class TiffLayout:
    name: str
    claims: Callable[[Tiff], bool]
    index: Callable[[Tiff, RangeSource], SlideIndex]  #: raises SlideRejected


TIFF_LAYOUTS: Final = (
    TiffLayout("Aperio SVS", aperio.claims, aperio.index),
    TiffLayout("Hamamatsu NDPI", ndpi.claims, ndpi.index),
    TiffLayout("OME-TIFF", ome.claims, ome.index),
    TiffLayout("Generic tiled TIFF", generic.claims, generic.index),
)


def read_index(source: RangeSource) -> SlideIndex:
    """Raises SlideRejected: TRUNCATED and DAMAGED for what no reader can open, UNSUPPORTED_PIXELS and
    UNSUPPORTED_FORMAT for what another reader may."""
    parsed = tiff.parse(source)
    if not (parsed.big or parsed.ndpi) and source.size > _CLASSIC_LIMIT:
        raise unsupported("The file is larger than a classic TIFF can be: save it as BigTIFF.")
    for layout in TIFF_LAYOUTS:
        if layout.claims(parsed):
            return layout.index(parsed, source)
    raise unsupported(
        "The file is laid out in a vendor's own way (SCN, Philips, BIF) and could not be opened: export "
        "it as SVS or as a tiled pyramidal TIFF."
    )
