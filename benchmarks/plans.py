"""Plans of slides that are all tissue."""

from __future__ import annotations

import numpy as np

from wsi.inspection.examination import Examination
from wsi.inspection.mask import SlideMask
from wsi.jobs.planning import make_plan
from wsi.planning.plan import Plan
from wsi.planning.shards import MOST
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard
from wsi.slide.slide import SlideReader


def plan_all_tiles(reader: SlideReader, card: ModelCard) -> Plan:
    """Plan every box of the slide, in shards as large as a fast model has them."""
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
