"""The stains that a plan pins, from the overview that inspection made: the slide itself is not read again."""

from __future__ import annotations

from dataclasses import replace

import simplejpeg  # pyright: ignore[reportMissingTypeStubs]

from wsi.errors import SourceMissing
from wsi.inspection.examination import Examination
from wsi.planning.stains import Stains, estimate_stains
from wsi.ports.objects import Objects
from wsi.records.model_card import ModelCard
from wsi.records.slides import Slide


def pin_stains(card: ModelCard, examination: Examination) -> Stains | None:
    """Return the stains of the slide, or None for a model that needs none. They are always estimated from the
    overview's JPEG and from detected tissue, whatever was drawn: so a slide has the same stains in `tessera run` and
    through the queues, before and after its overview was stored."""
    if not card.needs_stains:
        return None
    overview = simplejpeg.decode_jpeg(examination.thumbnail_jpeg, colorspace="RGB")
    return estimate_stains(overview, examination.mask.pixels)


def with_overview(examination: Examination, objects: Objects, slide: Slide) -> Examination | None:
    """Return the examination with the overview that inspection stored next to the mask, or None if that is gone and the
    slide must be examined again."""
    if slide.thumbnail_key is None:
        return None
    try:
        jpeg = objects.get(slide.thumbnail_key)
    except SourceMissing:
        return None
    return replace(examination, thumbnail_jpeg=jpeg)
