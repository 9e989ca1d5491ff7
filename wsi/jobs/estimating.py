"""Dry runs: the time and cost of a job that is not started. Needs numpy, as plans do."""

from __future__ import annotations

from wsi.errors import Conflict
from wsi.inspection.stored_mask import find_stored_mask
from wsi.jobs.jobs import JobRequest, get_inputs, pin_options
from wsi.planning.dry_run import estimate
from wsi.planning.estimate import Estimate
from wsi.ports.ledger import TenantLedger
from wsi.ports.objects import Objects
from wsi.records.identity import Actor
from wsi.records.model_card import ModelCard
from wsi.records.slides import Inspection


def estimate_job(
    actor: Actor, request: JobRequest, *, ledger: TenantLedger, objects: Objects, dollars_per_gpu_hour: float
) -> Estimate:
    """Return what the job would take. Every role may ask, since a dry run writes nothing. Raises NotFound, Conflict,
    Invalid, SlideRejected."""
    slide, model = get_inputs(actor, request, ledger)
    if slide.inspection is None:
        raise Conflict(f"The slide is {slide.state.value}; an estimate needs a slide that is READY.")
    options = pin_options(slide, request.options)
    return estimate(
        Inspection.from_json(slide.inspection),
        ModelCard.from_json(model.card),
        options,
        dollars_per_gpu_hour,
        stored=find_stored_mask(objects, slide) if options.outline is None else None,
    )
