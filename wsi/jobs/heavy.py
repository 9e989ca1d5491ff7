"""The work that functions lack the time, the disk or the libraries for: large plans, and results of gigabytes."""

from __future__ import annotations

from uuid import UUID

from wsi.jobs.planning import plan_job
from wsi.ledger_rules import GIVEN_UP
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.results.stitching import stitch_job
from wsi.slide.files.scratch import ScratchSpace
from wsi.states import JobState


def advance_job(
    job_id: UUID,
    *,
    ledger: SystemLedger,
    slides: SlideStore,
    objects: Objects,
    scratch: ScratchSpace,
    shard_tiles: int | None,
) -> bool:
    """Plan the job, or stitch it if it is STITCHING: a message names the job, whose state says what is due. Return
    False if this delivery moved nothing. Raises as `plan_job` and `stitch_job` do."""
    if ledger.find_stitch_brief(job_id) is not None:
        return stitch_job(job_id, ledger=ledger, objects=objects)
    return plan_job(job_id, ledger=ledger, slides=slides, objects=objects, scratch=scratch, shard_tiles=shard_tiles)


def give_up_job(job_id: UUID, *, ledger: SystemLedger) -> bool:
    """Fail the job after its last try, so that nobody waits for a message that no longer comes. Return False if the job
    had ended."""
    state = JobState.PLANNING if ledger.find_stitch_brief(job_id) is None else JobState.STITCHING
    return ledger.fail_job(job_id, *GIVEN_UP[state])
