from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wsi.plans import collect_all, inspection, plan, scores_of, shard_results
from wsi.concurrency import AHEAD
from wsi.errors import FailReason, JobFailed
from wsi.models.builtin import EFFICIENTNET_LITE0
from wsi.results.shard_result import AttemptMeasurements, ShardResult
from wsi.results.sink import FolderSink
from wsi.results.stitching import count_fetched_ahead, stitch

NAMES = ["heatmap.ome.tif", "summary.json", "tile_quality.csv", "tiles.csv", "tiles.geojson.gz", "tissue.png"]


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_shuffled_and_differently_cut_shards_give_the_same_bytes(data, tmp_path_factory):
    made = plan(inspection(3000, 2600))
    scores, unreadable = scores_of(made), {3: "file tile 65: bad", 40: "file tile 9: worse"}
    expected = tmp_path_factory.mktemp("expected")
    stitch(made, shard_results(made, scores, unreadable), FolderSink(expected), run={})

    numbers = np.array(data.draw(st.permutations(range(len(made.tiles)))), dtype=np.int32)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(numbers)), max_size=8)))
    folder = tmp_path_factory.mktemp("shuffled")
    stitch(made, shard_results(made, scores, unreadable, blocks=np.split(numbers, cuts)), FolderSink(folder), run={})
    assert sorted(path.name for path in folder.iterdir()) == NAMES
    for name in NAMES:
        assert (folder / name).read_bytes() == (expected / name).read_bytes(), name


def test_unreadable_tiles_are_in_the_summary_and_in_no_table(tmp_path):
    made = plan(inspection(512, 512))
    stitch(made, shard_results(made, scores_of(made), {1: "file tile 65: bad"}), FolderSink(tmp_path), run={})
    rows = (tmp_path / "tiles.csv").read_text().splitlines()[1:]
    assert [row.split(",")[:2] for row in rows] == [["0", "0"], ["256", "0"], ["256", "256"]]
    assert len(json.loads(gzip.decompress((tmp_path / "tiles.geojson.gz").read_bytes()))["features"]) == 3
    assert json.loads((tmp_path / "summary.json").read_text())["unreadable"][0]["miny"] == 256


def test_rows_of_whole_tiles_do_not_change_when_others_break(tmp_path):
    made = plan(inspection(512, 512))
    scores = scores_of(made)
    stitch(made, shard_results(made, scores), FolderSink(tmp_path / "whole"), run={})
    stitch(made, shard_results(made, scores, {1: "bad"}), FolderSink(tmp_path / "damaged"), run={})
    whole = (tmp_path / "whole" / "tiles.csv").read_text().splitlines()
    assert (tmp_path / "damaged" / "tiles.csv").read_text().splitlines() == [*whole[:2], *whole[3:]]


def test_results_carry_name_size_and_digest_and_the_summary_is_written_last(tmp_path):
    made = plan(inspection(512, 512))
    results = stitch(made, shard_results(made, scores_of(made)), FolderSink(tmp_path), run={"seconds": 3})
    assert sorted(result.name for result in results) == NAMES
    assert all((tmp_path / result.name).stat().st_size == result.size for result in results)
    value = json.loads((tmp_path / "summary.json").read_text())
    assert value["run"]["seconds"] == 3
    assert {file["name"] for file in value["files"]} == set(NAMES) - {"summary.json"}


def test_the_summary_says_what_the_shards_took_together_and_no_table_does(tmp_path):
    made = plan(inspection(512, 512), shard_tiles=2)
    plain = shard_results(made, scores_of(made))
    took = [AttemptMeasurements(seconds=1.5, requests=3, bytes=70, hardware=name) for name in ("NVIDIA L4", "AMD EPYC")]
    timed = [replace(shard, measured=one) for shard, one in zip(plain, took, strict=True)]
    stitch(made, [ShardResult.from_bytes(shard.to_bytes()) for shard in timed], FolderSink(tmp_path / "timed"), run={})
    stitch(made, plain, FolderSink(tmp_path / "plain"), run={})
    value = json.loads((tmp_path / "timed" / "summary.json").read_text())
    assert value["run"]["inference"] == {
        "seconds": 3.0,
        "requests": 6,
        "bytes": 140,
        "hardware": ["AMD EPYC", "NVIDIA L4"],
    }
    for name in set(NAMES) - {"summary.json"}:
        assert (tmp_path / "timed" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()


def _failure(made, results):
    with pytest.raises(JobFailed) as failed:
        collect_all(made, results)
    assert failed.value.reason is FailReason.STITCHING_FAILED
    return failed.value.sentence


def test_a_missing_tile_fails_with_counts():
    made = plan(inspection(512, 512), shard_tiles=1)
    sentence = _failure(made, shard_results(made, scores_of(made), {2: "bad"})[:-1])
    assert sentence == (
        "4 tiles were planned, but 2 inferred and 1 unreadable ones came back: 1 are missing and 0 came twice."
    )


@pytest.mark.parametrize("unreadable", [{}, {3: "bad"}])
def test_a_tile_that_came_twice_fails_with_counts(unreadable):
    made = plan(inspection(512, 512), shard_tiles=1)
    results = shard_results(made, scores_of(made), unreadable)
    sentence = _failure(made, [*results, results[-1]])
    assert "0 are missing and 1 came twice" in sentence


def test_a_tile_twice_within_a_shard_does_not_hide_a_missing_one():
    made = plan(inspection(512, 512))
    (result,) = shard_results(made, scores_of(made))
    doubled = replace(result, tiles=np.array([0, 1, 2, 2], dtype=np.int32))
    assert "1 are missing and 1 came twice" in _failure(made, [doubled])


def test_inferred_in_one_shard_and_unreadable_in_another_is_twice():
    made = plan(inspection(512, 512))
    results = shard_results(made, scores_of(made))
    other = replace(results[0], tiles=results[0].tiles[:0], scores=results[0].scores[:0], unreadable={0: "bad"})
    assert "1 came twice" in _failure(made, [*results, other])


def test_shards_of_another_plan_unknown_tiles_and_other_columns_are_refused():
    made = plan(inspection(512, 512))
    (result,) = shard_results(made, scores_of(made))
    assert "another plan" in _failure(made, [replace(result, plan_digest="00")])
    assert "ends at 3" in _failure(made, [replace(result, tiles=result.tiles + 1)])
    assert "ends at 3" in _failure(made, [replace(result, tiles=result.tiles - 1)])
    assert "scores" in _failure(made, [replace(result, scores=result.scores[:, :2])])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_no_number_fails_the_job(value):
    made = plan(inspection(512, 512))
    (result,) = shard_results(made, scores_of(made))
    scores = result.scores.copy()
    scores[1, 2] = value
    assert "not a finite number for 1 tiles" in _failure(made, [replace(result, scores=scores)])


def test_no_tissue_writes_every_file(tmp_path):
    made = plan(mask=np.zeros((5, 5), dtype=np.bool_))
    stitch(made, (), FolderSink(tmp_path), run={})
    assert sorted(path.name for path in tmp_path.iterdir()) == NAMES


@pytest.mark.parametrize(
    ("shard_tiles", "ahead"), [(2048, 6), (13_107, 1), (100, AHEAD)], ids=["some", "one", "as many as of scores"]
)
def test_results_that_are_fetched_ahead_fit_into_a_small_function(shard_tiles, ahead):
    seen = inspection(1000 * 224, 20 * 224)
    made = plan(seen, card=EFFICIENTNET_LITE0, shard_tiles=shard_tiles)
    assert made.card.width == 1280
    assert count_fetched_ahead(made) == ahead
