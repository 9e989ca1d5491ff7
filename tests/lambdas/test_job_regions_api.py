"""Jobs over drawn regions."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.installation import ANALYST
from tests.lambdas.jobs import finish_shard, plan, submit
from wsi.planning.region_geojson import read_geojson
from wsi.records.outline import Frame

DRAWN = {"type": "Polygon", "coordinates": [[[0, 0], [900, 0], [900, 700], [0, 700], [0, 0]]]}


def test_a_drawn_region_is_kept_as_points_and_shown_by_its_size(analyst, slide, installation):
    named = {"type": "Feature", "geometry": DRAWN, "properties": {"name": "Jane Doe"}}
    job = submit(analyst, slide, region_geojson=named, region_frame="qupath").body
    shown = job["options"]["outline"]
    assert (shown["frame"], shown["polygons"], shown["points"], len(shown["sha256"])) == ("qupath", 1, 5, 64)
    kept = installation.ledger.get_job(ANALYST, UUID(job["job_id"])).options.outline
    assert kept == read_geojson(DRAWN, Frame.QUPATH).outline
    plan(installation, job["job_id"], (10,))
    finish_shard(installation, job["job_id"], 0, 10)
    assert submit(analyst, slide).body["job_id"] != job["job_id"]


def test_a_dry_run_counts_the_tiles_of_a_drawn_region(analyst, slide):
    body = {"slide_id": str(slide), "model": "stain-density", "region_geojson": DRAWN}
    reply = analyst("POST", "/jobs", body, query={"dry_run": "true"})
    assert reply.status == 200
    assert (reply.body["tiles"], reply.body["exact"]) == (4 * 3, True)  # 900 x 700 px in boxes of 256 px


def test_what_a_region_leaves_out_is_a_warning_of_the_job_and_of_its_dry_run(analyst, slide, installation):
    exported = [{"type": "Feature", "geometry": shape} for shape in (DRAWN, {"type": "LineString"}, None)]
    body = {"slide_id": str(slide), "model": "stain-density", "region_geojson": exported}
    said = ["The region leaves out 1 line and 1 object without a geometry."]
    dry = analyst("POST", "/jobs", body, query={"dry_run": "true"})
    assert (dry.status, dry.body["warnings"]) == (200, said)
    job = analyst("POST", "/jobs", body).body
    assert job["warnings"] == said
    assert installation.ledger.get_job(ANALYST, UUID(job["job_id"])).options.outline == read_geojson(DRAWN).outline
    assert submit(analyst, slide).body["warnings"] == []


def square(left, side):
    right = left + side
    return {"type": "Polygon", "coordinates": [[[left, left], [right, left], [right, right], [left, right]]]}


@pytest.mark.parametrize("dry_run", ["true", "false"])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"type": "Point", "coordinates": [1, 2]}, "holds no polygon: it holds 1 point"),
        ([], "holds no polygon"),
        (square(9e6, 1e5), "misses the slide"),
        (square(-2e9, 4e9), "farther away than any slide reaches"),
        (square(2e9, 1), "farther away than any slide reaches"),
        (square(-1e308, 2e308), "farther away than any slide reaches"),
        (square(0, 10**400), "farther away than any slide reaches"),
        ("text", "region_geojson"),
    ],
)
def test_geojson_that_is_no_region_of_the_slide_is_refused_with_a_sentence(analyst, slide, value, said, dry_run):
    body = {"slide_id": str(slide), "model": "stain-density", "region_geojson": value}
    reply = analyst("POST", "/jobs", body, query={"dry_run": dry_run})
    assert (reply.status, reply.body["type"]) == (422, "/problems/invalid")
    assert said in reply.body["detail"]
