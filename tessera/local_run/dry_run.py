"""Estimates of runs: slides are opened, examined and planned, and no tile is read for a model."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from tessera.local_run.inputs import SlideInput
from tessera.local_run.sources import Sources, make_plan_uris
from wsi.given.objects import GivenObjects
from wsi.inspection.examination import examine
from wsi.jobs.planning import THREADS, make_plan
from wsi.planning.estimate import Estimate, make_estimate
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard
from wsi.slide.opening import open_slide


def estimate_run(
    slide: SlideInput,
    card: ModelCard,
    *,
    sources: Sources,
    options: JobOptions,
    dollars_per_gpu_hour: float,
    objects: GivenObjects | None = None,
) -> Estimate:
    """Plan one slide: return its count of tiles and shards, and the time and price of a worker of the queue. Raises
    what a run raises before its first tile."""
    options = replace(options, mpp=slide.mpp, region=slide.region, choice=slide.choice)
    with (
        sources.open(slide) as source,
        closing(open_slide(source, mpp=options.mpp, choice=options.choice)) as reader,
    ):
        plan = make_plan(
            slide_digest="",  # that would read every byte of a slide on this disk
            slide_uris=make_plan_uris(slide, source),
            reader=reader,
            examination=examine(reader),
            card=card,
            package_uri=None,
            options=options,
            shard_tiles=None,
            threads=THREADS,
            objects=objects,
        )
    return replace(make_estimate(len(plan.tiles), card, dollars_per_gpu_hour, exact=True), shards=len(plan.shard_sizes))
