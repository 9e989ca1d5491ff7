"""Plans and shard results for tests that need no slide: made by the real planner from a mask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wsi.inspection.examination import Examination
from wsi.inspection.mask import SlideMask
from wsi.inspection.stored_examination import UnreadSlide
from wsi.jobs.planning import make_plan
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Plan
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard
from wsi.records.slides import Inspection, LevelInfo
from wsi.results.collecting import collect
from wsi.results.scored_tiles import ScoredTiles
from wsi.results.shard_result import ShardResult


def inspection(
    width: int = 2000,
    height: int = 1500,
    *,
    mpp: float | None = 0.5,
    downsamples: Sequence[float] = (1.0,),
    tile: int = 240,
    tissue_fraction: float = 1.0,
) -> Inspection:
    levels = tuple(
        LevelInfo(
            width=max(1, round(width / each)),
            height=max(1, round(height / each)),
            downsample=each,
            tile_width=tile,
            tile_height=tile,
        )
        for each in downsamples
    )
    return Inspection(
        format="svs",
        reading_path="native",
        vendor="aperio",
        width=width,
        height=height,
        levels=levels,
        mpp_x=mpp,
        mpp_y=mpp,
        mpp_source="aperio" if mpp else None,
        tissue_fraction=tissue_fraction,
        warnings=("The slide has no thumbnail.",),
    )


class IndexedSlide(UnreadSlide):
    """The same of a slide that is read natively: planning needs no pixel of it."""

    def reduces(self, level: int) -> bool:
        return True

    def serialize_index(self) -> bytes:
        return b"index"


def plan(
    seen: Inspection | None = None,
    *,
    mask: NDArray[np.bool_] | None = None,
    card: ModelCard = STAIN_DENSITY,
    options: JobOptions | None = None,
    shard_tiles: int | None = None,
    slide_digest: str = "5e" * 32 + "-1",
) -> Plan:
    """A plan of a slide that is tissue all over, unless `mask` says otherwise."""
    seen = seen or inspection()
    mask = np.ones((64, 64), dtype=np.bool_) if mask is None else mask
    return make_plan(
        slide_digest=slide_digest,
        slide_uris=[("a.svs", "s3://slides/t/slides/s/00000", "etag")],
        reader=IndexedSlide(seen),
        examination=Examination(inspection=seen, thumbnail_jpeg=b"", mask=SlideMask(mask)),
        card=card,
        package_uri=None,
        options=options or JobOptions(),
        shard_tiles=shard_tiles,
        threads=1,
    )


def scores_of(made: Plan, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).random((len(made.tiles), made.card.width), dtype=np.float32)


def shard_results(
    made: Plan,
    scores: NDArray[np.float32],
    unreadable: Mapping[int, str] | None = None,
    *,
    blocks: Sequence[NDArray[np.int32]] | None = None,
) -> list[ShardResult]:
    """What workers would commit: one result a block of tile numbers (the plan's shards unless said)."""
    unreadable = unreadable or {}
    blocks = [made.shard_tiles(k) for k in range(len(made.shard_sizes))] if blocks is None else blocks
    results: list[ShardResult] = []
    for block in blocks:
        whole = np.array([tile for tile in block.tolist() if tile not in unreadable], dtype=np.int32)
        broken = {tile: unreadable[tile] for tile in block.tolist() if tile in unreadable}
        results.append(ShardResult(plan_digest=made.digest, tiles=whole, scores=scores[whole], unreadable=broken))
    return results


def small_card(**changes: object) -> ModelCard:
    return replace(STAIN_DENSITY, tile_px=64, input_px=64, **changes)


def collect_all(made: Plan, shards: Iterable[ShardResult]) -> ScoredTiles:
    """The tiles of a plan of scores, after the block that would hold files of vectors."""
    with collect(made, shards) as tiles:
        return tiles
