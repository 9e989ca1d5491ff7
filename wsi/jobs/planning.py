"""The plan of a job: tissue, grid, shards, decided once, before any GPU is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from uuid import UUID

import numpy as np

from wsi import keys
from wsi.errors import FailReason, JobFailed, SlideRejected, SourceChanged, SourceError
from wsi.given.objects import GivenObjects
from wsi.inspection.examination import Examination, examine
from wsi.inspection.mask import SlideMask
from wsi.inspection.stored_examination import UnreadSlide, find_stored_examination, open_indexed, open_slide_source
from wsi.ledger_rules import GIVEN_UP
from wsi.models.builtin import read_registered_card
from wsi.numerics import NUMERICS_VERSION
from wsi.planning.drawn_mask import draw_mask
from wsi.planning.grid import make_grid, order_tiles, select_tiles
from wsi.planning.numbered_files import hide_names
from wsi.planning.object_boxes import PlannedObjects, iterate_object_warnings, place_boxes
from wsi.planning.pinned_stains import pin_stains, with_overview
from wsi.planning.plan import Grid, Numerics, Plan
from wsi.planning.scale import TOLERANCE, Microns, compute_grid_mpp, is_in_range
from wsi.planning.shards import compute_shard_offsets, compute_shard_size, estimate_tile_bytes
from wsi.planning.windows import describe_other_scale, make_windows
from wsi.ports.ledger import PlanningBrief, SystemLedger
from wsi.ports.objects import Objects, SlideStore
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard
from wsi.records.slides import Inspection
from wsi.results.sink import ObjectSink
from wsi.results.stitching import stitch
from wsi.slide.files.scratch import ScratchSpace
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_slide
from wsi.slide.slide import SlideReader
from wsi.spans import describe_span, with_step
from wsi.states import JobState

#: CPU threads of a model in the queue's workers. Sums in floating point depend on how they are split over threads, so
#: the plan fixes it; a worker uses its other cores for decoding.
THREADS = 1
#: Bytes of a batch as pixels: 256 boxes of 512 px, or one of 8,192. A worker holds three such batches at least, and a
#: network one more in its own precision.
BATCH_BYTES = 192 * 1024**2


def make_plan(
    *,
    slide_digest: str,
    slide_uris: Sequence[tuple[str, str, str]],
    reader: SlideReader,
    examination: Examination,
    card: ModelCard,
    package_uri: str | None,
    options: JobOptions,
    shard_tiles: int | None,
    threads: int,
    objects: GivenObjects | None = None,
) -> Plan:
    """Make every decision about a job. Reads no pixel: `examination` holds the mask. A slide without tissue gives a
    plan without tiles.

    `slide_uris`: (relative name, uri, etag), the first one is opened. `shard_tiles` fixes the shard size. `objects`,
    those of `options.objects`, each have a tile, in place of tissue. Raises SlideRejected (SLIDE_TOO_COARSE, NO_MPP,
    MPP_CONFLICT, ABSURD_MPP) and JobFailed (too many tiles, a region or objects off the slide).
    """
    inspection = examination.inspection
    mpp = compute_grid_mpp(inspection)
    if objects is not None:
        _check_given(card, options)
    grid = _make_grid(inspection, card, mpp, options, reader, covers=objects is None)
    mask: SlideMask | None = None
    given: PlannedObjects | None = None
    if objects is not None:
        tiles, given = place_boxes(objects, (grid.side, grid.side_y), inspection, options.region)
        more = tuple(iterate_object_warnings(objects, given, inspection, examination.mask, options.region))
    else:
        mask = examination.mask if options.outline is None else draw_mask(options.outline, inspection)
        more = ()
        tiles = select_tiles(
            grid,
            mask.pixels,
            width=inspection.width,
            height=inspection.height,
            # An object is kept where it begins in tissue: the box that holds its point must not be left out.
            min_tissue=options.min_tissue if card.objects is None else 0,
            region=options.region,
        )
    return Plan(
        slide_digest=slide_digest,
        slide_uris=tuple(slide_uris),
        index=reader.serialize_index(),
        inspection=inspection,
        card=card,
        package_uri=package_uri,
        mpp=mpp[0],
        mpp_y=mpp[1],
        grid=grid,
        numerics=Numerics(
            version=NUMERICS_VERSION,
            precision=card.precision,
            batch=compute_batch_size(card, grid.level_side, grid.level_side_y),
            threads=threads,
            stains=pin_stains(card, examination),
        ),
        tiles=tiles,
        order=order_tiles(tiles, grid, inspection.levels[grid.level]),
        shard_offsets=np.asarray(
            compute_shard_offsets(
                len(tiles),
                compute_shard_size(card.tiles_per_second, shard_tiles, tile_bytes=estimate_tile_bytes(card)),
            ),
            dtype=np.int32,
        ),
        mask=mask,
        warnings=(
            *inspection.warnings,
            *_scale_warnings(mpp, card),
            *_window_warnings(mpp, grid, card),
            *_speed_warnings(grid, options),
            *more,
        ),
        region=options.region if card.objects is not None else None,
        choice=options.choice,
        objects=given,
    )


def _check_given(card: ModelCard, options: JobOptions) -> None:
    """Raise JobFailed for what given objects cannot be combined with."""
    if card.objects is not None:
        sentence = f"{card.name} finds objects itself: take a model that gives each tile scores or a vector."
        raise JobFailed(FailReason.PLANNING_FAILED, sentence)
    if options.outline is not None:
        sentence = "A job has objects or a drawn region, not both: leave out the objects outside of the region."
        raise JobFailed(FailReason.PLANNING_FAILED, sentence)


def _make_grid(
    inspection: Inspection,
    card: ModelCard,
    mpp: Microns,
    options: JobOptions,
    reader: SlideReader,
    *,
    covers: bool,
) -> Grid:
    if card.objects is not None:
        return make_windows(
            inspection, card, mpp, allow_upsampling=options.allow_upsampling, read_level=options.read_level
        )
    return make_grid(
        inspection,
        card,
        mpp,
        allow_upsampling=options.allow_upsampling,
        read_level=options.read_level,
        reduces=reader.reduces if options.fast else None,
        covers=covers,
    )


def _window_warnings(mpp: Microns, grid: Grid, card: ModelCard) -> tuple[str, ...]:
    warning = describe_other_scale(mpp, grid, card) if grid.kept_px else None
    return () if warning is None else (warning,)


def compute_batch_size(card: ModelCard, width: int, height: int) -> int:
    """Return the card's batch, or as much of it as fits into `BATCH_BYTES`: boxes of a slide without overviews are many
    times larger than those that the card's author expected."""
    pixels = max(width, card.input_px) * max(height, card.input_px)
    maps = 0 if card.objects is None else card.objects.maps * card.input_px**2
    return max(1, min(card.batch, BATCH_BYTES // (3 * pixels + maps)))


def _scale_warnings(mpp: Microns, card: ModelCard) -> tuple[str, ...]:
    coarser, warnings = max(mpp), list[str]()
    if coarser > card.mpp * TOLERANCE:
        warnings.append(
            f"The slide has {coarser:.4g} µm per pixel and was enlarged to the model's {card.mpp:.4g}: detail that the "
            "model was trained on is missing."
        )
    if card.mpp_range is not None and not is_in_range(card, mpp):
        finest, coarsest = card.mpp_range
        warnings.append(
            f"The slide has {coarser:.4g} µm per pixel; the model was found to hold for slides of {finest:.4g} to "
            f"{coarsest:.4g}: take its results with care."
        )
    return tuple(warnings)


def _speed_warnings(grid: Grid, options: JobOptions) -> tuple[str, ...]:
    if not options.fast or grid.reduction > 1:
        return ()
    return ("`fast` changed nothing: the level that is read is not JPEG, or not at half the model's µm per pixel.",)


def plan_job(
    job_id: UUID,
    *,
    ledger: SystemLedger,
    slides: SlideStore,
    objects: Objects,
    scratch: ScratchSpace,
    shard_tiles: int | None,
) -> bool:
    """Plan a QUEUED job, or a PLANNING one whose planner died, and move it to RUNNING, STITCHING, NO_TISSUE or FAILED.
    Return False if this delivery moved the job no further than PLANNING.

    Each step may be done twice: the plan's key and bytes depend on the job alone, and the commit is a compare-and-set.
    Errors of the store that may pass are raised, so that the queue tries again.
    """
    brief = ledger.begin_planning(job_id)
    if brief is None:
        return False
    try:
        digest, source = _digest(brief), open_slide_source(brief.slide, slides)
        with with_step("open slide"):
            reader, examination = _open_examined(brief, source, objects, scratch)
        with closing(reader), with_step("make plan"):
            plan = _plan(brief, digest, source, reader, examination or examine(reader), shard_tiles)
    except SlideRejected as error:
        return ledger.fail_job(job_id, FailReason.SLIDE_REJECTED, error.sentence)
    except JobFailed as error:
        return ledger.fail_job(job_id, error.reason, error.sentence)
    except SourceChanged:
        sentence = "The slide was replaced after it was inspected: upload or register it again."
        return ledger.fail_job(job_id, FailReason.SLIDE_CHANGED, sentence)
    except SourceError as error:
        if error.retryable:
            raise
        return ledger.fail_job(job_id, FailReason.SLIDE_UNREADABLE, error.sentence)
    tenant = brief.job.tenant
    if not len(plan.tiles):
        sink = ObjectSink(objects, keys.of_result(tenant, job_id, ""))
        return ledger.finish_without_tissue(job_id, stitch(plan, (), sink, run={"job_id": str(job_id)}))
    describe_span(tiles=len(plan.tiles), shards=len(plan.shard_sizes))
    key = keys.of_plan(tenant, job_id)
    with with_step("store plan"):
        objects.put(key, plan.to_bytes(), media_type="application/gzip")
        return ledger.commit_plan(job_id, plan_key=key, plan_digest=plan.digest, shard_tiles=plan.shard_sizes)


def give_up_plan(job_id: UUID, *, ledger: SystemLedger) -> bool:
    """Fail the job after its last try, so that nobody waits for a message that no longer comes. Return False if the job
    had ended."""
    return ledger.fail_job(job_id, *GIVEN_UP[JobState.PLANNING])


def _digest(brief: PlanningBrief) -> str:
    if brief.slide.digest is None:
        raise JobFailed(FailReason.PLANNING_FAILED, "The slide's upload is not complete: complete it, then try again.")
    return brief.slide.digest


def _open_examined(
    brief: PlanningBrief, source: SlideSource, objects: Objects, scratch: ScratchSpace
) -> tuple[SlideReader, Examination | None]:
    """Return the slide's reader, and the stored examination if it still holds. A reader that is opened from what
    inspection stored has read no byte of the slide."""
    slide = brief.slide
    mpp = brief.job.options.mpp if brief.job.options.mpp is not None else slide.mpp
    examination = find_stored_examination(objects, slide, source, mpp)
    if examination is not None and read_registered_card(brief.model).needs_stains:
        examination = with_overview(examination, objects, slide)
    if examination is not None and examination.inspection.reading_path == "scratch":
        return UnreadSlide(examination.inspection), examination
    opened = partial(open_slide, source, mpp=mpp, choice=slide.choice, scratch=scratch)
    return open_indexed(objects, slide, opened), examination


def _plan(
    brief: PlanningBrief,
    digest: str,
    source: SlideSource,
    reader: SlideReader,
    examination: Examination,
    shard_tiles: int | None,
) -> Plan:
    numbers = hide_names([name for name, _ in source.files])
    return make_plan(
        slide_digest=digest,
        slide_uris=[
            (number, file.uri, opened.etag)
            for number, file, (_, opened) in zip(numbers, brief.slide.files, source.files, strict=True)
        ],
        reader=reader,
        examination=examination,
        card=read_registered_card(brief.model),
        package_uri=brief.model.package_uri,
        options=brief.job.options,
        shard_tiles=shard_tiles,
        threads=THREADS,
    )
