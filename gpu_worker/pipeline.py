"""One shard through the five stages: fetch, decode, batch, forward, write. Knows no queue and no database."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpu_worker.flow import Flow
from gpu_worker.models.loaded import LoadedModel
from gpu_worker.stages.batch import batch
from gpu_worker.stages.decode import decode
from gpu_worker.stages.fetch import fetch
from gpu_worker.stages.forward import forward
from gpu_worker.stages.quality import with_quality
from gpu_worker.stages.write import ResultWriter
from wsi.grid import decoded_level, level_boxes
from wsi.model_card import EdgeFill
from wsi.plan import Plan
from wsi.records.slides import LevelInfo
from wsi.shard_result import ShardResult
from wsi.slide.patches import PatchAssembler
from wsi.slide.slide import SlideReader

log = logging.getLogger(__name__)

#: Bytes of decoded file tiles that may wait between decode and batch. A file's tile is 172 KB at 240 px and 48 MB at
#: 4,096 px, so a fixed number of tiles would bound nothing.
DECODED_BYTES = 64 * 1024**2
#: Encoded file tiles that may wait; about 2 MB at 31 KB a tile.
ENCODED_TILES = 64
#: Full batches that may wait before the model and after it.
BATCHES = 2

_FILLS = {EdgeFill.WHITE: 255, EdgeFill.BLACK: 0}


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What one run over a shard did and took, whether it finished the shard or was drained."""

    STAGES: ClassVar[tuple[str, ...]] = ("fetch", "decode", "batch", "forward")

    inferred: int  #: tiles, as the next ones without those resumed
    unreadable: int
    padded: int  #: rows computed for nothing
    seconds: float  #: from the first wish for a batch to the last batch
    forward_seconds: float  #: in the model
    waits: Mapping[str, float]  #: stage -> seconds that the stage after it waited for it


class Drained(Exception):
    """The run was stopped. Its last checkpoint holds every finished tile, those of the batch in flight too."""


def run_shard(
    plan: Plan,
    shard_index: int,
    reader: SlideReader,
    model: LoadedModel,
    *,
    resume: ShardResult | None = None,
    on_checkpoint: Callable[[ShardResult], None] | None = None,
    checkpoint_seconds: float = 10.0,
    checkpoint_batches: int = 8,
    decode_workers: int = 2,
    stop: threading.Event,
    on_batch: Callable[[int], None] | None = None,
    on_run: Callable[[Run], None] | None = None,
) -> ShardResult:
    """Every tile of shard `shard_index`, inferred or unreadable with a reason, in the order of their numbers.

    `resume` holds tiles that an earlier run finished; they are not computed again. `on_checkpoint` gets all tiles
    finished so far, `on_batch` the number of tiles that one batch finished (not those resumed), `on_run` what the run
    took, unless an error ended it; all are called on the caller's thread. An error of any stage or callback ends the
    run at once and is raised as it is.

    Raises Drained once `stop` is set, after the batch in flight is finished and in a checkpoint; SourceError when
    the slide can not be read; ValueError for a `resume` of another plan or shard.
    """
    shard = plan.shard_tiles(shard_index)
    tiles = _remaining(plan, shard, resume)
    writer = ResultWriter(plan.digest, len(plan.card.columns), resume)
    if not len(tiles):
        return writer.result()
    grid = plan.grid
    level = decoded_level(plan.inspection.levels[grid.level], grid.reduction)
    width, height = grid.level_side, grid.level_side_y
    fill = _FILLS[plan.card.edge_fill]
    assembler = PatchAssembler(level, level_boxes(grid, plan.tiles[tiles]), width, height, fill=fill)
    resumed = saved = writer.done
    batches_unsaved, saved_at = 0, time.monotonic()
    began, busy, padded, unreadable = time.perf_counter(), 0.0, 0, 0

    with Flow() as flow:
        encoded = flow.through("fetch", fetch(reader, grid.level, assembler.needed), ENCODED_TILES, stop=stop)
        decoded = flow.through(
            "decode",
            decode(reader, iter(encoded), workers=decode_workers, reduction=grid.reduction, fill=fill),
            _decoded_tiles(level),
            stop=stop,
        )
        batches = flow.through(
            "batch",
            with_quality(batch(decoded, assembler, tiles, width=width, height=height, size=plan.numerics.batch)),
            BATCHES,
            stop=stop,
        )
        # Not stopped but run dry: the batch in flight is finished and kept.
        outputs = flow.through("forward", forward(model, plan.numerics, batches, stop=stop), BATCHES)
        for output in outputs:
            writer.add(output)
            batches_unsaved += 1
            busy, padded = busy + output.seconds, padded + output.padded
            unreadable += len(output.unreadable)
            if on_batch is not None:
                on_batch(output.count)
            due = batches_unsaved >= checkpoint_batches or time.monotonic() - saved_at >= checkpoint_seconds
            if due and on_checkpoint is not None and writer.done < len(shard):
                on_checkpoint(writer.result())
                saved, batches_unsaved, saved_at = writer.done, 0, time.monotonic()
        flow.raise_error()

    whole = writer.done == len(shard)
    run = Run(
        inferred=writer.done - resumed - unreadable,
        unreadable=unreadable,
        padded=padded,
        seconds=time.perf_counter() - began,
        forward_seconds=busy,
        waits={channel.name: channel.waited for channel in flow.channels},
    )
    _log(run, whole)
    if on_run is not None:
        on_run(run)
    if whole:
        return writer.result()
    if not stop.is_set():
        raise RuntimeError(f"{len(shard) - writer.done} of {len(shard)} tiles came to no result")
    if on_checkpoint is not None and writer.done > saved:
        on_checkpoint(writer.result())
    raise Drained


def _log(run: Run, whole: bool) -> None:
    log.info(
        "shard computed" if whole else "shard drained",
        extra={
            "tiles": run.inferred + run.unreadable,
            "seconds": round(run.seconds, 3),
            "gpu_busy_ratio": round(run.forward_seconds / run.seconds, 4) if run.seconds else None,
            "padded": run.padded,
            "waits": {stage: round(seconds, 3) for stage, seconds in run.waits.items()},
        },
    )


def _remaining(plan: Plan, shard: NDArray[np.int32], resume: ShardResult | None) -> NDArray[np.int32]:
    """The shard's tiles that `resume` does not hold, in the file's order."""
    if resume is None:
        return shard
    resume.check_part_of(plan.digest, shard)
    return shard[~np.isin(shard, [*resume.tiles, *resume.unreadable])]


def _decoded_tiles(level: LevelInfo) -> int:
    tile_bytes = level.tile_width * level.tile_height * 3
    return max(2, min(64, DECODED_BYTES // tile_bytes))
