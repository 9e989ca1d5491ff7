"""Code of the last release reads what today's writes, where one of its workers or functions can still meet it."""

from __future__ import annotations

import gzip
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.wsi.plans import inspection, plan
from tools.release_fixtures.checkout import make_command
from wsi.models.builtin import EFFICIENTNET_LITE0, NUCLEI, STAIN_DENSITY
from wsi.planning.plan import PLAN_SCHEMA, Plan
from wsi.records.model_card import Boxes, Channels, Resize
from wsi.records.stain_normalisation import PUBLISHED
from wsi.results.shard_result import RESULT_SCHEMA, AttemptMeasurements, ShardResult

READ = Path(__file__).with_name("read_as_release.py")
STRETCHED = replace(inspection(8000, 6000, mpp=0.25, downsamples=(1, 2, 4)), mpp_y=0.3)

#: Today's plans by their schema, one of each feature that raised it.
PLANS: dict[str, Plan] = {
    "1": plan(),
    "2-stretched": plan(STRETCHED),
    "3-resize": plan(card=replace(STAIN_DENSITY, resize=Resize.PILLOW_BILINEAR, input_px=224)),
    "4-bgr": plan(card=replace(STAIN_DENSITY, channels=Channels.BGR)),
    "5-boxes": plan(card=replace(STAIN_DENSITY, boxes=Boxes.RESAMPLED)),
    "5-stains": plan(card=replace(STAIN_DENSITY, stain_normalisation=PUBLISHED)),
    "6-vectors": plan(card=EFFICIENTNET_LITE0),
    "6-objects": plan(card=NUCLEI),
}
RESULT = ShardResult(
    plan_digest=PLANS["1"].digest,
    tiles=np.arange(3, dtype=np.int32),
    scores=np.ones((3, 4), dtype=np.float32),
    unreadable={3: "damaged"},
    measured=AttemptMeasurements(seconds=1.0, requests=2, bytes=3, hardware="CPU"),
)


@pytest.fixture(scope="module")
def read_by_release(worktree: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("written")
    for name, made in PLANS.items():
        (folder / name).write_bytes(made.to_bytes())
    (folder / "result.npz").write_bytes(RESULT.to_bytes())
    newer = {**json.loads(gzip.decompress(PLANS["1"].to_bytes())), "schema": 1_000}
    (folder / "newer").write_bytes(gzip.compress(json.dumps(newer).encode()))
    command, environment = make_command(worktree, READ, str(folder))
    done = subprocess.run(command, env=environment, cwd=worktree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_schema_of_plans_has_an_example():
    assert {str(made.schema) for made in PLANS.values()} == {name[0] for name in PLANS}
    assert {made.schema for made in PLANS.values()} == set(range(1, PLAN_SCHEMA + 1))


@pytest.mark.parametrize("name", PLANS)
def test_the_last_release_reads_a_plan_of_today_or_leaves_it_to_others(read_by_release: dict[str, Any], name: str):
    made, found = PLANS[name], read_by_release["files"][name]
    if made.schema > read_by_release["schemas"]["plan"]:
        assert found == {"error": "NewerSchema", "failed": False}
    else:
        assert found == {"digest": made.digest, "schema": made.schema, "shards": len(made.shard_sizes)}


def test_plans_have_a_new_schema_only_once_the_last_release_leaves_such_plans_to_others(
    read_by_release: dict[str, Any],
):
    """Its workers must not count a plan that they cannot read as a failure: three would end the job."""
    newer = read_by_release["files"]["newer"]
    assert "error" in newer
    assert read_by_release["schemas"]["plan"] >= PLAN_SCHEMA or newer["failed"] is False


def test_the_last_release_reads_a_result_of_today(read_by_release: dict[str, Any]):
    """Its stitch function may get the shards of today's workers."""
    assert read_by_release["schemas"]["result"] >= RESULT_SCHEMA
    assert read_by_release["files"]["result.npz"] == {"digest": RESULT.plan_digest, "done": RESULT.done}
