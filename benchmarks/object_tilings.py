"""Dependence of objects on how a slide is cut: the same slide and network with tiles of several sizes.
`python -m benchmarks.object_tilings SLIDE [--model NAME] [--sides 1024 832 1536] [--mpp N]`.

Objects are compared by their outlines. Those that differ are matched by their overlap. Windows see the same px, so that
what differs is what rounding in the network's sums moves over a threshold.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from shapely.geometry import shape
from shapely.strtree import STRtree

from benchmarks.api_latency import describe_machine
from inference.models.registry import load_model
from inference.pipeline import run_shard
from wsi.inspection.examination import examine
from wsi.jobs.planning import make_plan
from wsi.models.builtin import BUILTIN
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard
from wsi.results.sink import FolderSink
from wsi.results.stitching import stitch
from wsi.slide.opening import open_local_source, open_slide

Outline = str  #: JSON of a polygon's coordinates


def find_outlines(slide: Path, card: ModelCard, mpp: float | None, device: str) -> set[Outline]:
    reader = open_slide(open_local_source(slide), mpp=mpp)
    plan = make_plan(
        slide_digest="0" * 64,
        slide_uris=[(slide.name, "file", "1")],
        reader=reader,
        examination=examine(reader),
        card=card,
        package_uri=None,
        options=JobOptions(mpp=mpp),
        shard_tiles=None,
        threads=1,
    )
    model = load_model(card, None, device)
    shards = [run_shard(plan, index, reader, model, stop=threading.Event()) for index in range(len(plan.shard_sizes))]
    with tempfile.TemporaryDirectory() as folder:
        stitch(plan, shards, FolderSink(Path(folder)), run={})
        features = json.loads(gzip.decompress((Path(folder) / "objects.geojson.gz").read_bytes()))["features"]
    return {json.dumps(feature["geometry"]["coordinates"]) for feature in features}


def measure_overlaps(lost: set[Outline], found: set[Outline]) -> list[float]:
    """Return of each outline that is lost the largest intersection over union with one that was found instead."""
    polygons = [_read(outline) for outline in sorted(found)]
    tree = STRtree(polygons)
    overlaps: list[float] = []
    for outline in sorted(lost):
        polygon = _read(outline)
        near = [polygons[place] for place in tree.query(polygon)]
        overlaps.append(max((polygon.intersection(one).area / polygon.union(one).area for one in near), default=0.0))
    return overlaps


def _read(outline: Outline) -> Any:
    return shape({"type": "Polygon", "coordinates": json.loads(outline)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slide", type=Path)
    parser.add_argument("--model", default="nuclei", choices=[name for name, card in BUILTIN.items() if card.objects])
    parser.add_argument("--sides", type=int, nargs="+", default=[1024, 832, 1536])
    parser.add_argument("--mpp", type=float, help="Microns a pixel that the slide is taken for.")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    print(f"{describe_machine()}, {given.device}; {given.slide.name}, {given.model}")
    first: set[Outline] = set()
    for side in given.sides:
        card = replace(BUILTIN[given.model], tile_px=side, input_px=side)
        outlines = find_outlines(given.slide, card, given.mpp, given.device)
        first = first or outlines
        same = len(first & outlines)
        overlaps = measure_overlaps(first - outlines, outlines - first)
        least = f", of the others IoU at least {min(overlaps):.4f}" if overlaps else ""
        print(
            f"{side:5} px: {len(outlines):,} objects, {same / len(first):.4%} as at {given.sides[0]} px{least}",
            flush=True,
        )


if __name__ == "__main__":
    main()
