"""Object outlines in the viewer: `objects.geojson.gz` among the results of a job, as a model leaves it, or drawn ones
that are written, stored and recorded by the adapters that workers use."""

from __future__ import annotations

import gzip
import io
import json
import logging
import math
import os
import re
from collections.abc import Iterator, Sequence
from typing import IO, Any
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from adapters.s3.objects import S3Objects
from local.options import RESULTS
from tessera.api.rest import RemoteJob, RemoteSlide
from tests.shared_slides import shared_slide
from tests.stack.lab import Lab
from tests.web.person import Person
from tests.web.viewing import COLOURED, FIRST_TILE, SLIDE, WATCH_FRAMES, at, overlay, patience, settled
from wsi import keys
from wsi.results.objects.class_colours import choose_colour
from wsi.results.sink import ObjectSink

logger = logging.getLogger(__name__)

pytestmark = pytest.mark.stack

NAME = "objects.geojson.gz"
#: Outlines. `OUTLINES=100000` for the figures in benchmarks/README.md; more than are stroked in any case.
MANY = int(os.environ.get("OUTLINES", "10000"))

REGION = [700, 1100, 700, 700]  #: tissue with many nuclei, in few windows of the network
MIDDLE = (1050.0, 1450.0)  #: of it
RED, BLUE = (200, 0, 0), (86, 180, 233)

#: Keeps how long the page's thread was busy at a stretch, ms.
WATCH_TASKS = """() => {
  window.tasks = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.tasks.push(entry.duration);
  }).observe({ type: 'longtask' });
}"""


def outline(x: float, y: float, radius: float, points: int = 20) -> list[list[float]]:
    turns = [2 * math.pi * number / points for number in range(points)]
    ring = [[round(x + radius * math.cos(turn), 2), round(y + radius * math.sin(turn), 2)] for turn in turns]
    return [*ring, ring[0]]


def feature(rings: Sequence[Any], name: str, colour: Sequence[int] | None, **measurements: float) -> dict[str, Any]:
    classification = {"name": name, **({"color": colour} if colour else {})}
    return {
        "type": "Feature",
        "geometry": {"type": "Polygon", "coordinates": rings},
        "properties": {"objectType": "detection", "classification": classification, "measurements": measurements},
    }


def add_objects(lab: Lab, job: RemoteJob, features: Iterator[dict[str, Any]]) -> None:
    """As a worker of a segmenting model will leave them: an object in the bucket, a row among the results."""

    def write(file: IO[bytes]) -> None:
        packed = gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=file, mtime=0)
        with packed, io.TextIOWrapper(packed, encoding="utf-8", newline="") as text:
            text.write('{"type":"FeatureCollection","features":[')
            for number, each in enumerate(features):
                text.write((",\n" if number else "\n") + json.dumps(each, separators=(",", ":")))
            text.write("\n]}\n")

    tenant = lab.stack.tenants["first"]
    prefix = keys.of_result(tenant, UUID(job.job_id), "")
    result = ObjectSink(S3Objects(lab.stack.clients, RESULTS), prefix).write(NAME, "application/geo+json", write)
    lab.sql(
        "INSERT INTO results (job_id, tenant, name, key, size, sha256, media_type) VALUES (%s, %s, %s, %s, %s, %s, %s)",
        *(job.job_id, tenant, result.name, result.key, result.size, result.sha256, result.media_type),
    )


@pytest.fixture(scope="module")
def slide(lab: Lab) -> RemoteSlide:
    return lab.upload(shared_slide(SLIDE))


def look_at(person: Person, job: RemoteJob, place: str = "") -> Page:
    person.page.goto(f"{person.origin}/view/{job.slide_id}?job={job.job_id}{place}")
    person.page.evaluate(FIRST_TILE)
    return person.page


def test_outlines_are_drawn_chosen_and_hidden(lab: Lab, slide: RemoteSlide, analyst: Person) -> None:
    job = lab.run(slide)
    gland = feature([outline(1000, 1500, 300), outline(1000, 1500, 120)], "Gland", RED, **{"Area µm²": 58_000.5})
    nuclei = [feature([outline(x, 1500, 30)], "Nucleus", None, **{"Area µm²": 706.75}) for x in (1000, 1500)]
    add_objects(lab, job, iter([gland, *nuclei]))
    page = look_at(analyst, job, "#x=1110&y=1483&z=0.3")
    counts = page.get_by_role("table", name="Outlined objects")
    expect(counts.get_by_role("row", name="Gland 1")).to_be_visible()
    expect(counts.get_by_role("row", name="Nucleus 2")).to_be_visible()
    page.get_by_label("Heatmap", exact=True).uncheck()
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(1000)
    settled(page)
    assert page.evaluate(COLOURED, RED) > 200
    assert page.evaluate(COLOURED, BLUE) > 60
    card = page.get_by_role("group", name="Chosen object")
    page.mouse.click(*at(page, 1220, 1500))
    expect(card).to_contain_text("Gland")
    expect(card.get_by_role("row", name="Area")).to_contain_text("58,000.5 µm²")
    page.mouse.click(*at(page, 1010, 1510))
    expect(card).to_contain_text("Nucleus")
    assert analyst.violations() == []
    analyst.look("viewer-objects")
    page.mouse.click(*at(page, 1080, 1500))  # in the hole
    expect(card).to_have_count(0)
    page.get_by_role("application").focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight", delay=60)
    page.keyboard.press("Enter")  # in the middle, without a pointer
    expect(card).to_contain_text("Gland")
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)
    page.get_by_label("Object outlines").uncheck()
    page.wait_for_timeout(300)
    assert page.evaluate(COLOURED, RED) == 0
    page.mouse.click(*at(page, 1220, 1500))
    expect(card).to_have_count(0)


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
    x, y = MIDDLE
    page = look_at(analyst, job, f"#x={x:g}&y={y:g}&z=1")
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


def test_many_outlines_do_not_freeze_the_page(lab: Lab, slide: RemoteSlide, analyst: Person) -> None:
    job = lab.run(slide)
    across, last = 270, f"Nucleus {-(-MANY // 3):,}"
    middle_of_all = 8 * (MANY // across) // 2
    near = ((8 * (number % across) + 5, 8 * (number // across) + 5) for number in range(MANY))
    kinds = ("Nucleus", "Lymphocyte", "Tumour")
    add_objects(
        lab,
        job,
        (
            feature([outline(x, y, 3)], kinds[number % 3], None, area=28.3, circularity=0.9)
            for number, (x, y) in enumerate(near)
        ),
    )
    page = analyst.page
    page.goto(f"{analyst.origin}/view/{job.slide_id}?job={job.job_id}")
    page.evaluate(WATCH_TASKS)
    page.evaluate(FIRST_TILE)
    counts = page.get_by_role("table", name="Outlined objects")
    expect(counts.get_by_role("row", name=last)).to_be_visible(timeout=60_000)
    page.get_by_label("Heatmap", exact=True).uncheck()
    page.wait_for_timeout(1000)
    tasks: list[float] = page.evaluate("window.tasks")
    assert settled(page)[0] > MANY // 2, "specks, where single outlines could not be told apart"
    rows = [f"loading: the longest task took {max(tasks, default=0):.0f} ms"]
    for zoom in (0.2, 1.0, 4.0):
        look_at(analyst, job, f"#x=1110&y={middle_of_all}&z={zoom}")
        expect(counts.get_by_role("row", name=last)).to_be_visible(timeout=60_000)
        page.get_by_label("Heatmap", exact=True).uncheck()
        page.wait_for_timeout(1500)
        frames = panned(page)
        middle = frames[len(frames) // 2]
        rows.append(f"zoom {zoom}: a frame takes {middle:.0f} ms while moved, {frames[-1]:.0f} ms at most")
        assert middle < 50 * patience(), rows
    box = page.get_by_role("application").bounding_box()
    assert box is not None
    logger.info("%d outlines: %s", MANY, "; ".join(rows))
    assert max(tasks, default=0) < 400 * patience(), rows
    page.wait_for_timeout(1000)  # the slide glides on after it was moved, and the address follows at its end
    settled(page)
    page.mouse.click(*at(page, 8 * 139 + 5, 8 * (middle_of_all // 8) + 5))
    expect(page.get_by_role("group", name="Chosen object")).to_contain_text(re.compile("Nucleus|Lymphocyte|Tumour"))


def panned(page: Page) -> list[float]:
    """ms between frames while somebody moves the slide, sorted."""
    box = page.get_by_role("application").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.evaluate(WATCH_FRAMES)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 150, y + 60, steps=40)
    page.mouse.move(x, y, steps=40)
    page.mouse.up()
    return sorted(page.evaluate("window.frames_kept()"))
