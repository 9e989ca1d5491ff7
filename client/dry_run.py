"""What runs would take, without running: slides are opened, examined and planned, and no tile is read for a model."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from client.inputs import SlideInput
from client.sources import Sources, plan_uris
from wsi.estimate import Estimate, priced
from wsi.examination import examine
from wsi.model_card import ModelCard
from wsi.planning import THREADS, make_plan
from wsi.records.jobs import JobOptions
from wsi.slide.opening import open_slide


def planned(
    slide: SlideInput, card: ModelCard, *, sources: Sources, options: JobOptions, dollars_per_gpu_hour: float
) -> Estimate:
    """Of one slide: the plan's own count of tiles and shards, and the time and price of a worker of the queue. Raises
    what a run raises before its first tile."""
    options = replace(options, mpp=slide.mpp, region=slide.region, choice=slide.choice)
    with (
        sources.opened(slide) as source,
        closing(open_slide(source, mpp=options.mpp, choice=options.choice)) as reader,
    ):
        plan = make_plan(
            slide_digest="",  # that would read every byte of a slide on this disk
            slide_uris=plan_uris(slide, source),
            reader=reader,
            examination=examine(reader),
            card=card,
            package_uri=None,
            options=options,
            shard_tiles=None,
            threads=THREADS,
        )
    return replace(priced(len(plan.tiles), card, dollars_per_gpu_hour, exact=True), shards=len(plan.shard_sizes))
