"""The mask of a plan whose user has drawn a region in place of tissue detection."""

from __future__ import annotations

import numpy as np

from wsi.errors import FailReason, JobFailed
from wsi.mask import DRAWN, SlideMask
from wsi.outline import Outline, missed
from wsi.rasterising import drawn_bitmap
from wsi.records.slides import Inspection


def drawn_mask(outline: Outline, inspection: Inspection) -> SlideMask:
    """Raises JobFailed for a region that misses the slide."""
    if (sentence := missed(outline.on_slide(inspection.bounds), inspection)) is not None:
        raise JobFailed(FailReason.PLANNING_FAILED, sentence)
    drawn = drawn_bitmap(outline, inspection)
    bits = np.unpackbits(np.frombuffer(drawn.packed(), np.uint8), count=drawn.height * drawn.width)
    settings = {"frame": outline.frame.value, "polygons": len(outline.polygons), "vertices": outline.vertices}
    return SlideMask(bits.reshape(drawn.height, drawn.width).astype(np.bool_), DRAWN, settings)
