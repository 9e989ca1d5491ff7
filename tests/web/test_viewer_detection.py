"""Outlines in the viewer as a model of objects finds them: from the worker to the card under the pointer."""

from __future__ import annotations

import gzip
import json
import re

import pytest
from playwright.sync_api import Page, expect

from tessera.api.rest import RemoteJob, RemoteSlide
from tests.shared_slides import shared_slide
from tests.stack.lab import Lab
from tests.web.person import Person
from tests.web.viewing import COLOURED, FIRST_TILE, SLIDE, at, overlay, settled
from wsi.results.objects.class_colours import choose_colour

pytestmark = pytest.mark.stack

REGION = [700, 1100, 700, 700]  #: tissue with many nuclei, in few windows of the network
MIDDLE = (1050.0, 1450.0)  #: of it


@pytest.fixture(scope="module")
def slide(lab: Lab) -> RemoteSlide:
    return lab.upload(shared_slide(SLIDE))


def look_at(person: Person, job: RemoteJob, zoom: float) -> Page:
    x, y = MIDDLE
    person.page.goto(f"{person.origin}/view/{job.slide_id}?job={job.job_id}#x={x:g}&y={y:g}&z={zoom:g}")
    person.page.evaluate(FIRST_TILE)
    return person.page


def find_middle_of_a_nucleus(geojson: bytes) -> tuple[float, float, float]:
    """Level-0 px of the one that is nearest to MIDDLE, and its area in um2."""
    nuclei: list[tuple[float, float, float]] = []
    for feature in json.loads(gzip.decompress(geojson))["features"]:
        ring = feature["geometry"]["coordinates"][0][1:]
        x, y = (sum(axis) / len(ring) for axis in zip(*ring, strict=True))
        nuclei.append((x, y, feature["properties"]["measurements"]["Area µm^2"]))
    return min(nuclei, key=lambda nucleus: abs(nucleus[0] - MIDDLE[0]) + abs(nucleus[1] - MIDDLE[1]))


def test_nuclei_are_outlined_counted_and_measured(lab: Lab, slide: RemoteSlide, analyst: Person) -> None:
    body = {"slide_id": slide.slide_id, "model": "nuclei", "region": REGION}
    job = lab.wait(lab.api.get_job(lab.transport.call("POST", "/jobs", body=body, repeatable=True)["job_id"]))
    results = lab.results(job)
    found = json.loads(results["summary.json"])["objects"]["found"]
    assert found > 100
    page = look_at(analyst, job, 1)
    counts = page.get_by_role("table", name="Outlined objects")
    expect(counts.get_by_role("row", name=f"Nucleus {found:,}")).to_be_visible()
    expect(page.get_by_text(re.compile("tiles? searched for objects"))).to_be_visible()
    expect(page.get_by_label("Heatmap")).to_have_count(0)
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(1000)  # until the address has followed
    settled(page)
    assert page.evaluate(COLOURED, list(choose_colour(0))) > 1000
    x, y, area = find_middle_of_a_nucleus(results["objects.geojson.gz"])
    page.mouse.move(*at(page, x, y))
    card = page.get_by_role("group", name="Object under the pointer")
    expect(card.get_by_role("row", name="Area")).to_contain_text(f"{round(area, 1):g} µm²")
    assert analyst.violations() == []
    analyst.look("viewer-nuclei")
    page.get_by_label("Object outlines").uncheck()
    expect(card).to_have_count(0)
    page.get_by_label("Analysed tiles").check()
    page.wait_for_timeout(300)
    assert overlay(page)[0] > 0
