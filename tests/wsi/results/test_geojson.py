from __future__ import annotations

import gzip
import io
import json

import numpy as np

from tests.wsi.plans import collect_all, inspection, plan, scores_of, shard_results
from tests.wsi.results.qupath import features
from wsi.results import geojson


def _bytes(tiles):
    file = io.BytesIO()
    geojson.write(tiles, file)
    return file.getvalue()


def test_qupath_takes_every_feature():
    made = plan()
    scores = scores_of(made)
    found = features(json.loads(gzip.decompress(_bytes(collect_all(made, shard_results(made, scores))))))
    assert len(found) == len(made.tiles)
    assert {feature["properties"]["objectType"] for feature in found} == {"tile"}
    assert all("classification" not in feature["properties"] for feature in found)
    values = [list(feature["properties"]["measurements"].values()) for feature in found]
    assert np.array_equal(np.array(values, dtype=np.float32), scores)


def test_boxes_end_where_the_slide_ends():
    made = plan(inspection(300, 290))
    found = features(json.loads(gzip.decompress(_bytes(collect_all(made, shard_results(made, scores_of(made)))))))
    assert found[-1]["geometry"]["coordinates"] == [[[256, 256], [300, 256], [300, 290], [256, 290], [256, 256]]]


def test_ids_belong_to_plan_and_tile():
    made, other = plan(), plan(inspection(mpp=0.499))
    ids = [
        {feature["id"] for feature in json.loads(gzip.decompress(_bytes(tiles)))["features"]}
        for tiles in (
            collect_all(made, shard_results(made, scores_of(made, 0))),
            collect_all(made, shard_results(made, scores_of(made, 1))),
            collect_all(other, shard_results(other, scores_of(other))),
        )
    ]
    assert ids[0] == ids[1]
    assert not ids[0] & ids[2]


def test_the_gzip_header_holds_neither_time_nor_name():
    made = plan()
    data = _bytes(collect_all(made, shard_results(made, scores_of(made))))
    assert data[3] == 0  # FLG: no FNAME, no FCOMMENT
    assert data[4:8] == b"\0\0\0\0"  # MTIME


def test_no_tissue_is_a_valid_empty_collection():
    made = plan(mask=np.zeros((5, 5), dtype=np.bool_))
    assert features(json.loads(gzip.decompress(_bytes(collect_all(made, ()))))) == []
