from __future__ import annotations

import io
import json

import numpy as np

from tests.wsi.plans import collect_all, inspection, plan, scores_of, shard_results
from wsi.records.results import ResultFile
from wsi.results import summary

CSV = ResultFile(name="tiles.csv", key="t/jobs/j/results/tiles.csv", size=3, sha256="ab", media_type="text/csv")


def _written(tiles, run):
    file = io.BytesIO()
    summary.write(tiles, (CSV,), run, file)
    return json.loads(file.getvalue())


def test_counts_add_up_and_unreadable_tiles_are_named_with_reasons():
    made = plan(inspection(512, 512))
    reason = "file tile 65: Not a JPEG file"
    value = _written(collect_all(made, shard_results(made, scores_of(made), {2: reason})), {})
    assert value["status"] == "COMPLETED_WITH_UNREADABLE_TILES"
    assert value["tiles"] == {"planned": 4, "inferred": 3, "unreadable": 1}
    assert value["unreadable"] == [{"minx": 256, "miny": 0, "width": 256, "height": 256, "reason": reason}]


def test_provenance_names_slide_plan_model_numerics_and_code():
    made = plan()
    value = _written(collect_all(made, shard_results(made, scores_of(made))), {})
    assert value["status"] == "COMPLETED"
    assert value["slide"]["digest"] == made.slide_digest
    assert (value["slide"]["mpp"], value["slide"]["mpp_source"]) == (0.5, "aperio")
    assert value["slide"]["reading_path"] == "native"
    assert value["plan_digest"] == made.digest
    assert value["model"]["digest"] == made.card.digest
    assert value["numerics"]["precision"] == "fp32"
    assert value["code_version"]
    assert value["warnings"] == list(made.warnings)
    assert value["files"][0]["sha256"] == "ab"


def test_measurements_lie_under_run_and_nowhere_else():
    made = plan()
    tiles = collect_all(made, shard_results(made, scores_of(made)))
    one, other = _written(tiles, {"seconds": 1.5}), _written(tiles, {"seconds": 2.5})
    assert one.pop("run")["seconds"] == 1.5
    assert other.pop("run")["seconds"] == 2.5
    assert one == other


def test_no_name_that_a_user_gave_is_in_it():
    made = plan()
    assert "a.svs" not in json.dumps(_written(collect_all(made, shard_results(made, scores_of(made))), {}))


def test_no_tissue_is_a_status():
    made = plan(mask=np.zeros((5, 5), dtype=np.bool_))
    value = _written(collect_all(made, ()), {})
    assert value["status"] == "NO_TISSUE"
    assert value["tiles"] == {"planned": 0, "inferred": 0, "unreadable": 0}
