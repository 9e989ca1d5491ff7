"""Collects the tiles of a plan from its shards, each exactly once."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wsi.errors import FailReason, JobFailed
from wsi.given.objects import GivenObjects
from wsi.planning.plan import Plan
from wsi.results.features.feature_rows import FeatureRows, keep_rows_on_disk
from wsi.results.objects.object_file import ObjectFile, keep_objects_on_disk
from wsi.results.scored_tiles import ScoredTiles
from wsi.results.shard_result import AttemptMeasurements, ShardResult, get_float_type
from wsi.results.tile_quality import make_unmeasured


@contextmanager
def collect(plan: Plan, shards: Iterable[ShardResult], given: GivenObjects | None = None) -> Generator[ScoredTiles]:
    """Yield all tiles of the plan, each at its number, whatever shards hold it. Shards are read one at a time; vectors
    are kept on disk within the block. `given`: the objects of a plan around objects.

    Raises JobFailed STITCHING_FAILED unless planned = inferred + unreadable with no tile twice, all of this plan,
    and all scores finite; and for other objects than the plan's.
    """
    if (plan.objects and plan.objects.digest) != (given and given.digest):
        raise _make_error("The file of objects is missing or is another one than the job was planned with.")
    if plan.card.embedding is not None:
        with keep_rows_on_disk(plan.card.width, get_float_type(plan.card)) as features:
            yield replace(_collect(plan, shards, features=features), given=given)
    elif plan.card.objects is not None:
        with keep_objects_on_disk(plan) as objects:
            yield _collect(plan, shards, objects=objects)
    else:
        yield replace(_collect(plan, shards), given=given)


def _collect(
    plan: Plan,
    shards: Iterable[ShardResult],
    *,
    features: FeatureRows | None = None,
    objects: ObjectFile | None = None,
) -> ScoredTiles:
    planned, digest = len(plan.tiles), plan.digest
    scores = np.zeros((planned, len(plan.card.columns)), dtype=np.float32)
    looks = make_unmeasured(planned)
    inferred = np.zeros(planned, dtype=np.int64)  # how often each tile came
    broken = np.zeros(planned, dtype=np.int64)
    unreadable: dict[int, str] = {}
    measured: list[AttemptMeasurements] = []
    for shard in shards:
        _check(shard, digest, planned, plan.card.width)
        if features is not None:
            features.put(shard.tiles, shard.scores)
        else:
            scores[shard.tiles] = shard.scores
        if objects is not None and shard.objects is not None:
            objects.put(shard.objects)
        if shard.quality is not None:
            if shard.quality.shape != (len(shard.tiles), looks.shape[1]):
                raise _make_error(f"A shard holds qualities {shard.quality.shape} for {len(shard.tiles)} tiles.")
            looks[shard.tiles] = shard.quality
        np.add.at(inferred, shard.tiles, 1)
        np.add.at(broken, np.fromiter(shard.unreadable, dtype=np.int64), 1)
        unreadable |= shard.unreadable
        if shard.measured:
            measured.append(shard.measured)
    done = _select_inferred(inferred, broken)
    if objects is not None:
        objects.join()
    return ScoredTiles(
        plan=plan,
        inferred=done,
        scores=scores[done],
        features=features,
        objects=objects,
        quality=looks[done],
        unreadable=dict(sorted(unreadable.items())),
        measured=tuple(measured),
    )


def _check(shard: ShardResult, digest: str, planned: int, width: int) -> None:
    """Raise JobFailed unless the shard is of this plan and holds what its card says."""
    if shard.plan_digest != digest:
        raise _make_error("A shard was computed for another plan than this job's.")
    numbers = [*shard.tiles.tolist(), *shard.unreadable]
    if numbers and not (min(numbers) >= 0 and max(numbers) < planned):
        raise _make_error(f"A shard holds tile {max(numbers)}, and the plan ends at {planned - 1}.")
    if shard.scores.shape != (len(shard.tiles), width):
        raise _make_error(f"A shard holds scores {shard.scores.shape}, not {(len(shard.tiles), width)}.")
    if not np.isfinite(shard.scores).all():
        tiles = int((~np.isfinite(shard.scores)).any(axis=1).sum())
        raise _make_error(f"The model gave a value that is not a finite number for {tiles} tiles of a shard.")


def _select_inferred(inferred: NDArray[np.int64], broken: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the numbers of the inferred tiles. Raises JobFailed unless each tile came once."""
    seen = inferred + broken
    missing, twice = int((seen == 0).sum()), int((seen > 1).sum())
    if missing or twice:
        raise _make_error(
            f"{len(seen)} tiles were planned, but {int(inferred.sum())} inferred and {int(broken.sum())} unreadable "
            f"ones came back: {missing} are missing and {twice} came twice."
        )
    return np.flatnonzero(inferred).astype(np.int32)


def _make_error(sentence: str) -> JobFailed:
    return JobFailed(FailReason.STITCHING_FAILED, sentence)
