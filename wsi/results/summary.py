"""summary.json: what was analysed, with what, and what could not be. Measurements of the run are under `run` only; all
else is the same for the same slide and model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import IO, Any

from wsi.numerics import CODE_VERSION
from wsi.records.model_card import ModelCard
from wsi.records.results import ResultFile
from wsi.results import quality
from wsi.results.mask import describe_mask
from wsi.results.scored_tiles import ScoredTiles
from wsi.results.shard_result import AttemptMeasurements
from wsi.states import JobState

NAME = "summary.json"  #: written last: it stands only when every other file of the slide stands
MEDIA_TYPE = "application/json"
SUMMARY_SCHEMA = 1


def decide_state(tiles: ScoredTiles) -> JobState:
    """Return the final state of the job, by its counts."""
    if not len(tiles.plan.tiles):
        return JobState.NO_TISSUE
    return JobState.COMPLETED_WITH_UNREADABLE_TILES if tiles.unreadable else JobState.COMPLETED


def write(tiles: ScoredTiles, files: Sequence[ResultFile], run: Mapping[str, Any], file: IO[bytes]) -> None:
    """Write the summary. It lists the other result files, `files`, with size and digest, so that a copy can be
    checked."""
    plan = tiles.plan
    inspection, box = plan.inspection, {"width": plan.grid.side, "height": plan.grid.side_y}
    value: dict[str, Any] = {
        "schema": SUMMARY_SCHEMA,
        "status": decide_state(tiles).value,
        "tiles": {
            "planned": len(plan.tiles),
            "inferred": len(tiles.inferred),
            "unreadable": len(tiles.unreadable),
        },
        **_describe_objects(tiles),
        **_describe_given(tiles),
        "quality": quality.describe(tiles),
        "unreadable": [
            {"minx": int(plan.tiles[tile, 0]), "miny": int(plan.tiles[tile, 1])} | box | {"reason": reason}
            for tile, reason in tiles.unreadable.items()
        ],
        "slide": {
            "digest": plan.slide_digest,
            "format": inspection.format,
            "vendor": inspection.vendor,
            "width": inspection.width,
            "height": inspection.height,
            "bounds": inspection.bounds,
            "mpp": plan.mpp,
            "mpp_y": plan.mpp_y,
            "mpp_source": inspection.mpp_source,
            "reading_path": inspection.reading_path,
            "path_reason": inspection.path_reason,
            "tissue_um2": inspection.tissue_um2,
            "tissue_fraction": inspection.tissue_fraction,
            "tissue": describe_mask(plan.mask, inspection) if plan.mask is not None else None,
        },
        "model": _describe_model(plan.card),
        "plan_digest": plan.digest,
        "grid": asdict(plan.grid),
        "numerics": plan.numerics.as_json(),
        "code_version": CODE_VERSION,
        "warnings": list(plan.warnings),
        "files": [
            {"name": result.name, "size": result.size, "sha256": result.sha256, "media_type": result.media_type}
            for result in files
        ],
        "run": {**run, "inference": _inference(tiles.measured)},
    }
    file.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _describe_model(card: ModelCard) -> dict[str, Any]:
    value: dict[str, Any] = {
        "name": card.name,
        "version": card.version,
        "digest": card.digest,
        "mpp": card.mpp,
        "output": card.output.value,
        "licence": card.licence,
        "columns": [column.as_json() for column in card.columns],
    }
    if card.embedding is not None:
        value["embedding"] = asdict(card.embedding)
    if card.objects is not None:
        value["objects"] = asdict(card.objects)
    return value


def _describe_objects(tiles: ScoredTiles) -> dict[str, Any]:
    """Return the objects' entry: their counts, and how many no single window decided on."""
    if tiles.objects is None or tiles.plan.card.objects is None:
        return {}
    found = tiles.objects.count()
    classes = dict(zip(tiles.plan.card.objects.classes, found.by_class, strict=True))
    return {"objects": {"found": found.objects, "classes": classes, "large": found.large, "joined": found.joined}}


def _describe_given(tiles: ScoredTiles) -> dict[str, Any]:
    """Return the entry of the objects that a user gave: how many the file has, and how many have values."""
    planned, given = tiles.plan.objects, tiles.given
    if planned is None or given is None:
        return {}
    found = {"given": planned.count, "analysed": len(tiles.inferred)}
    return {"given_objects": {**found, "digest": planned.digest, "frame": given.frame.value}}


def _inference(shards: Sequence[AttemptMeasurements]) -> dict[str, Any]:
    """Return the totals of the shards' measurements, each of the attempt that finished the shard."""
    return {
        "seconds": round(sum(shard.seconds for shard in shards), 3),  # of all workers, one after the other
        "requests": sum(shard.requests for shard in shards),
        "bytes": sum(shard.bytes for shard in shards),
        "hardware": sorted({shard.hardware for shard in shards}),
    }
