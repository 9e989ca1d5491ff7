from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np

from tests.wsi.plans import collect_all, inspection, plan, scores_of, shard_results
from wsi.results import quality
from wsi.results.shard_result import ShardResult
from wsi.results.sink import FolderSink
from wsi.results.stitching import stitch


def looks(shard: ShardResult) -> ShardResult:
    values = np.outer(shard.tiles + 1, [100, 0.25, 0.01, 0.1]).astype(np.float32)
    return replace(shard, quality=values)


def written(shards: list[ShardResult], made) -> list[str]:
    file = io.BytesIO()
    quality.write(collect_all(made, shards), file)
    return file.getvalue().decode().splitlines()


def test_a_row_a_row_of_tiles_csv_with_the_box_first(tmp_path):
    made = plan(inspection(512, 512))
    shards = [looks(shard) for shard in shard_results(made, scores_of(made), {1: "bad"})]
    stitch(made, shards, FolderSink(tmp_path), run={})
    rows = (tmp_path / "tile_quality.csv").read_text().splitlines()
    assert rows[0] == "minx,miny,width,height,blur,white_fraction,pen_fraction,saturation"
    assert rows[1] == "0,0,256,256,100.0,0.25,0.01,0.1"
    tiles = (tmp_path / "tiles.csv").read_text().splitlines()
    assert [row.split(",")[:4] for row in rows] == [row.split(",")[:4] for row in tiles]


def test_tiles_that_an_older_worker_computed_have_empty_fields():
    made = plan(inspection(512, 512), shard_tiles=2)
    first, second = shard_results(made, scores_of(made))
    stored = ShardResult.from_bytes(replace(second, quality=None).to_bytes())
    rows = written([looks(first), stored], made)
    assert {row.count(",") for row in rows} == {7}
    assert sum(row.endswith(",,,") for row in rows) == 2


def test_the_summary_has_medians_and_counts_of_what_is_mostly_glass_or_marked(tmp_path):
    made = plan(inspection(512, 512))
    stitch(made, [looks(shard) for shard in shard_results(made, scores_of(made))], FolderSink(tmp_path), run={})
    found = json.loads((tmp_path / "summary.json").read_text())["quality"]
    assert found["measured"] == 4
    assert found["medians"] == {"blur": 250.0, "white_fraction": 0.625, "pen_fraction": 0.025, "saturation": 0.25}
    assert (found["mostly_white"], found["with_pen"]) == (3, 0)


def test_without_a_measured_tile_the_summary_says_so(tmp_path):
    made = plan(inspection(512, 512))
    stitch(made, shard_results(made, scores_of(made)), FolderSink(tmp_path), run={})
    assert json.loads((tmp_path / "summary.json").read_text())["quality"] == {"version": 1, "measured": 0}
