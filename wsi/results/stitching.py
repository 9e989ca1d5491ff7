"""Stitching of shard results into result files. `stitch` knows no Lambda and no queue: it takes a plan, results and a
sink."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, Final
from uuid import UUID

from wsi import keys
from wsi.concurrency import AHEAD, iterate_concurrently, map_concurrently
from wsi.errors import FailReason, JobFailed, SourceMissing
from wsi.given.objects import GivenObjects
from wsi.planning.plan import Plan
from wsi.planning.shards import estimate_tile_bytes
from wsi.ports.ledger import StitchBrief, SystemLedger
from wsi.ports.objects import Objects
from wsi.records.results import ResultFile
from wsi.results import summary
from wsi.results.collecting import collect
from wsi.results.registry import FileWriter, select_writers
from wsi.results.scored_tiles import ScoredTiles
from wsi.results.shard_result import ShardResult
from wsi.results.sink import ObjectSink, ResultSink
from wsi.spans import describe_span, with_step

#: Bytes of shards' results that are fetched before they are needed, or one result: those of vectors are large.
FETCHED_BYTES: Final = 64 * 1024**2


def stitch(
    plan: Plan,
    shards: Iterable[ShardResult],
    sink: ResultSink,
    *,
    run: Mapping[str, Any],
    given: GivenObjects | None = None,
) -> tuple[ResultFile, ...]:
    """Write the plan's result files (`wsi.results.registry`), all at once, so that one is compressed while another is
    sent; a repeated step writes the same bytes in the same place.

    summary.json comes last: if it exists, all other files exist. `run` holds measurements and goes into it, next to
    those of the shards. `given`: the objects of a plan around objects. Unreadable tiles are in summary.json, with
    reasons, and in no other file. Raises JobFailed as `collect` does.
    """
    with ExitStack() as stack:
        with with_step("collect", tiles=len(plan.tiles)):
            tiles = stack.enter_context(collect(plan, shards, given))
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


def count_fetched_ahead(plan: Plan) -> int:
    """Return the number of shards' results that are fetched while one is read."""
    tile_bytes = estimate_tile_bytes(plan.card)
    largest = max(plan.shard_sizes, default=0) * tile_bytes
    return max(1, min(AHEAD, FETCHED_BYTES // max(1, largest)))


def _results(brief: StitchBrief, objects: Objects) -> tuple[ResultFile, ...]:
    job = brief.job
    plan = Plan.from_bytes(objects.get(job.plan_key or keys.of_plan(job.tenant, job.id)))
    keys_of_results = [output.result_key for output in brief.shards]
    fetched = iterate_concurrently(objects.get, keys_of_results, ahead=count_fetched_ahead(plan))
    shards = map(ShardResult.from_bytes, fetched)
    run = {
        "job_id": str(job.id),
        "created_at": job.created_at.isoformat(),
        "shards": len(brief.shards),
        "tiles_per_second": job.tiles_per_second,
    }
    return stitch(plan, shards, ObjectSink(objects, keys.of_result(job.tenant, job.id, "")), run=run)
