"""The stains that a plan pins, from the overview that inspection made: the slide itself is not asked again."""

from __future__ import annotations

from dataclasses import replace

import simplejpeg  # pyright: ignore[reportMissingTypeStubs]

from wsi.builtin_models import needs_stains
from wsi.errors import SourceMissing
from wsi.examination import Examination
from wsi.model_card import ModelCard
from wsi.ports.objects import Objects
from wsi.records.slides import Slide
from wsi.stains import Stains, estimate_stains


def pinned_stains(card: ModelCard, examination: Examination) -> Stains | None:
    """None for models that need none. Always of the overview's JPEG, and of detected tissue whatever was drawn: so a
    slide has the same stains in `tessera run` and through the queues, before and after its overview was stored."""
    if not needs_stains(card):
        return None
    overview = simplejpeg.decode_jpeg(examination.thumbnail_jpeg, colorspace="RGB")
    return estimate_stains(overview, examination.mask.pixels)


def with_overview(examination: Examination, objects: Objects, slide: Slide) -> Examination | None:
    """What inspection stored beside the mask; None where it is gone, so that the slide has to be examined again."""
    if slide.thumbnail_key is None:
        return None
    try:
        jpeg = objects.get(slide.thumbnail_key)
    except SourceMissing:
        return None
    return replace(examination, thumbnail_jpeg=jpeg)
