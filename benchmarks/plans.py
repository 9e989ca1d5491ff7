"""Plans of slides that are tissue all over."""

from __future__ import annotations

import numpy as np

from wsi.examination import Examination
from wsi.mask import SlideMask
from wsi.model_card import ModelCard
from wsi.plan import Plan
from wsi.planning import make_plan
from wsi.records.jobs import JobOptions
from wsi.shards import MOST
from wsi.slide.slide import SlideReader


def plan_of_all(reader: SlideReader, card: ModelCard) -> Plan:
    """Every box of the slide, in shards as large as a fast model has them."""
    examination = Examination(inspection=reader.inspection, thumbnail_jpeg=b"", mask=SlideMask(np.ones((4, 4), bool)))
    return make_plan(
        slide_digest="",
        slide_uris=(),
        reader=reader,
        examination=examination,
        card=card,
        package_uri=None,
        options=JobOptions(),
        shard_tiles=MOST,
        threads=1,
    )
