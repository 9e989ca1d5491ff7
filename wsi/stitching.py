"""From shard results to result files. `stitch` knows no Lambda and no queue: it takes a plan, results and a sink."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np

from wsi import keys
from wsi.errors import FailReason, JobFailed, SourceMissing
from wsi.plan import Plan
from wsi.ports.ledger import StitchBrief, SystemLedger
from wsi.ports.objects import Objects
from wsi.quality import unmeasured
from wsi.records.results import ResultFile
from wsi.results import geojson, heatmap, mask, quality, summary, tables
from wsi.results.scored_tiles import ScoredTiles
from wsi.results.sink import ObjectSink, ResultSink
from wsi.shard_result import Measured, ShardResult


def collect(plan: Plan, shards: Iterable[ShardResult]) -> ScoredTiles:
    """Puts every tile at its number, whatever shards it came in. Shards are taken one at a time.

    Raises JobFailed STITCHING_FAILED unless planned = inferred + unreadable with no tile twice, all of this plan,
    and all scores finite.
    """
    planned, columns = len(plan.tiles), len(plan.card.columns)
    digest = plan.digest
    scores = np.zeros((planned, columns), dtype=np.float32)
    looks = unmeasured(planned)
    inferred = np.zeros(planned, dtype=np.int64)  # how often each tile came
    broken = np.zeros(planned, dtype=np.int64)
    unreadable: dict[int, str] = {}
    measured: list[Measured] = []
    for shard in shards:
        if shard.plan_digest != digest:
            raise _failed("A shard was computed for another plan than this job's.")
        numbers = [*shard.tiles.tolist(), *shard.unreadable]
        if numbers and not (min(numbers) >= 0 and max(numbers) < planned):
            raise _failed(f"A shard holds tile {max(numbers)}, and the plan ends at {planned - 1}.")
        if shard.scores.shape != (len(shard.tiles), columns):
            raise _failed(f"A shard holds scores {shard.scores.shape}, not {(len(shard.tiles), columns)}.")
        if not np.isfinite(shard.scores).all():
            tiles = int((~np.isfinite(shard.scores)).any(axis=1).sum())
            raise _failed(f"The model gave a value that is not a finite number for {tiles} tiles of a shard.")
        scores[shard.tiles] = shard.scores
        if shard.quality is not None:
            if shard.quality.shape != (len(shard.tiles), looks.shape[1]):
                raise _failed(f"A shard holds qualities {shard.quality.shape} for {len(shard.tiles)} tiles.")
            looks[shard.tiles] = shard.quality
        np.add.at(inferred, shard.tiles, 1)
        np.add.at(broken, np.fromiter(shard.unreadable, dtype=np.int64), 1)
        unreadable |= shard.unreadable
        if shard.measured:
            measured.append(shard.measured)
    seen = inferred + broken
    missing, twice = int((seen == 0).sum()), int((seen > 1).sum())
    if missing or twice:
        raise _failed(
            f"{planned} tiles were planned, but {int(inferred.sum())} inferred and {int(broken.sum())} unreadable ones "
            f"came back: {missing} are missing and {twice} came twice."
        )
    done = np.flatnonzero(inferred).astype(np.int32)
    return ScoredTiles(
        plan=plan,
        inferred=done,
        scores=scores[done],
        quality=looks[done],
        unreadable=dict(sorted(unreadable.items())),
        measured=tuple(measured),
    )


def stitch(
    plan: Plan, shards: Iterable[ShardResult], sink: ResultSink, *, run: Mapping[str, Any]
) -> tuple[ResultFile, ...]:
    """Writes all result files, one step a file; a step that is done again writes the same bytes in the same place.

    summary.json comes last: where it stands, all others stand. `run` holds measurements and goes into it, beside what
    the shards took.
    Unreadable tiles are in summary.json, with reasons, and in no other file. Raises JobFailed as `collect` does.
    """
    tiles = collect(plan, shards)
    kinds = (tables, quality, geojson, heatmap, *((mask,) if plan.mask is not None else ()))
    writers = [(kind.NAME, kind.MEDIA_TYPE, kind.write) for kind in kinds]
    if geojson.has_two_frames(plan.inspection):
        writers.append((geojson.FULL_NAME, geojson.MEDIA_TYPE, geojson.write_full))
    files = tuple(sink.write(name, media_type, partial(write, tiles)) for name, media_type, write in writers)
    last = sink.write(summary.NAME, summary.MEDIA_TYPE, partial(summary.write, tiles, files, run))
    return (last, *files)


def stitch_job(job_id: UUID, *, ledger: SystemLedger, objects: Objects) -> bool:
    """Brief -> results -> commit. False when this delivery moved nothing: another one did, or the job is over.

    Every step is idempotent, so a stitcher that died leaves nothing that the next one must know. Errors of the
    store that may pass are raised, so that the queue tries again.
    """
    brief = ledger.stitch_brief(job_id)
    if brief is None:
        return False
    try:
        results = _results(brief, objects)
    except JobFailed as error:
        return ledger.fail_job(job_id, error.reason, error.sentence)
    except SourceMissing:
        sentence = "The results of a shard are no longer in the store: start the job again."
        return ledger.fail_job(job_id, FailReason.STITCHING_FAILED, sentence)
    return ledger.commit_results(job_id, results)


def _results(brief: StitchBrief, objects: Objects) -> tuple[ResultFile, ...]:
    job = brief.job
    plan = Plan.from_bytes(objects.get(job.plan_key or keys.plan(job.tenant, job.id)))
    shards = (ShardResult.from_bytes(objects.get(output.result_key)) for output in brief.shards)
    run = {
        "job_id": str(job.id),
        "created_at": job.created_at.isoformat(),
        "shards": len(brief.shards),
        "tiles_per_second": job.tiles_per_second,
    }
    return stitch(plan, shards, ObjectSink(objects, keys.result(job.tenant, job.id, "")), run=run)


def _failed(sentence: str) -> JobFailed:
    return JobFailed(FailReason.STITCHING_FAILED, sentence)
