"""Stitching of shard results into result files. `stitch` knows no Lambda and no queue: it takes a plan, results and a
sink."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np

from wsi import keys
from wsi.concurrency import iterate_concurrently, map_concurrently
from wsi.errors import FailReason, JobFailed, SourceMissing
from wsi.planning.plan import Plan
from wsi.ports.ledger import StitchBrief, SystemLedger
from wsi.ports.objects import Objects
from wsi.records.results import ResultFile
from wsi.results import summary
from wsi.results.registry import FileWriter, select_writers
from wsi.results.scored_tiles import ScoredTiles
from wsi.results.shard_result import AttemptMeasurements, ShardResult
from wsi.results.sink import ObjectSink, ResultSink
from wsi.results.tile_quality import make_unmeasured
from wsi.spans import describe_span, with_step


def collect(plan: Plan, shards: Iterable[ShardResult]) -> ScoredTiles:
    """Put every tile at its number, whatever shards hold it. Shards are read one at a time.

    Raises JobFailed STITCHING_FAILED unless planned = inferred + unreadable with no tile twice, all of this plan,
    and all scores finite.
    """
    planned, columns = len(plan.tiles), len(plan.card.columns)
    digest = plan.digest
    scores = np.zeros((planned, columns), dtype=np.float32)
    looks = make_unmeasured(planned)
    inferred = np.zeros(planned, dtype=np.int64)  # how often each tile came
    broken = np.zeros(planned, dtype=np.int64)
    unreadable: dict[int, str] = {}
    measured: list[AttemptMeasurements] = []
    for shard in shards:
        if shard.plan_digest != digest:
            raise _make_stitching_error("A shard was computed for another plan than this job's.")
        numbers = [*shard.tiles.tolist(), *shard.unreadable]
        if numbers and not (min(numbers) >= 0 and max(numbers) < planned):
            raise _make_stitching_error(f"A shard holds tile {max(numbers)}, and the plan ends at {planned - 1}.")
        if shard.scores.shape != (len(shard.tiles), columns):
            raise _make_stitching_error(
                f"A shard holds scores {shard.scores.shape}, not {(len(shard.tiles), columns)}."
            )
        if not np.isfinite(shard.scores).all():
            tiles = int((~np.isfinite(shard.scores)).any(axis=1).sum())
            raise _make_stitching_error(
                f"The model gave a value that is not a finite number for {tiles} tiles of a shard."
            )
        scores[shard.tiles] = shard.scores
        if shard.quality is not None:
            if shard.quality.shape != (len(shard.tiles), looks.shape[1]):
                raise _make_stitching_error(
                    f"A shard holds qualities {shard.quality.shape} for {len(shard.tiles)} tiles."
                )
            looks[shard.tiles] = shard.quality
        np.add.at(inferred, shard.tiles, 1)
        np.add.at(broken, np.fromiter(shard.unreadable, dtype=np.int64), 1)
        unreadable |= shard.unreadable
        if shard.measured:
            measured.append(shard.measured)
    seen = inferred + broken
    missing, twice = int((seen == 0).sum()), int((seen > 1).sum())
    if missing or twice:
        raise _make_stitching_error(
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
    """Write the plan's result files (`wsi.results.registry`), all at once, so that one is compressed while another is
    sent; a repeated step writes the same bytes in the same place.

    summary.json comes last: if it exists, all other files exist. `run` holds measurements and goes into it, next to
    those of the shards. Unreadable tiles are in summary.json, with reasons, and in no other file. Raises JobFailed as
    `collect` does.
    """
    with with_step("collect", tiles=len(plan.tiles)):
        tiles = collect(plan, shards)
    write = partial(_write_file, tiles, sink)
    files = tuple(map_concurrently(write, select_writers(plan)))
    with with_step(f"write {summary.NAME}"):
        last = sink.write(summary.NAME, summary.MEDIA_TYPE, partial(summary.write, tiles, files, run))
    return (last, *files)


def _write_file(tiles: ScoredTiles, sink: ResultSink, writer: FileWriter) -> ResultFile:
    with with_step(f"write {writer.name}"):
        return sink.write(writer.name, writer.media_type, partial(writer.write, tiles))


def stitch_job(job_id: UUID, *, ledger: SystemLedger, objects: Objects) -> bool:
    """Stitch the job's results and commit them. Return False if this delivery moved nothing: another one did, or the
    job is over.

    Every step is idempotent, so a crashed stitcher leaves nothing that the next one must know. Errors of the store that
    may pass are raised, so that the queue tries again.
    """
    brief = ledger.find_stitch_brief(job_id)
    if brief is None:
        return False
    try:
        results = _results(brief, objects)
    except JobFailed as error:
        return ledger.fail_job(job_id, error.reason, error.sentence)
    except SourceMissing:
        sentence = "The results of a shard are no longer in the store: start the job again."
        return ledger.fail_job(job_id, FailReason.STITCHING_FAILED, sentence)
    describe_span(shards=len(brief.shards), bytes=sum(file.size for file in results))
    with with_step("commit"):
        return ledger.commit_results(job_id, results)


def _results(brief: StitchBrief, objects: Objects) -> tuple[ResultFile, ...]:
    job = brief.job
    plan = Plan.from_bytes(objects.get(job.plan_key or keys.of_plan(job.tenant, job.id)))
    fetched = iterate_concurrently(objects.get, [output.result_key for output in brief.shards])
    shards = map(ShardResult.from_bytes, fetched)
    run = {
        "job_id": str(job.id),
        "created_at": job.created_at.isoformat(),
        "shards": len(brief.shards),
        "tiles_per_second": job.tiles_per_second,
    }
    return stitch(plan, shards, ObjectSink(objects, keys.of_result(job.tenant, job.id, "")), run=run)


def _make_stitching_error(sentence: str) -> JobFailed:
    return JobFailed(FailReason.STITCHING_FAILED, sentence)
