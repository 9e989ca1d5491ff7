"""The viewer on the embedded stack: a real slide, its heatmap, two results side by side."""

from __future__ import annotations

import json
import logging
import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from local.stack import Stack
from tests.shared_slides import shared_slide
from tests.slides import write_svs
from tests.stack.lab import Lab
from tests.web.conftest import SIZE
from tests.web.person import Person
from tests.web.viewing import (
    FIRST_TILE,
    SCORED,
    SLIDE,
    Scene,
    at,
    look_at,
    make_scene,
    middle_of,
    overlay,
    page_origin,
    patience,
    settled,
)
from wsi.records.identity import Role

logger = logging.getLogger(__name__)

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def scene(lab: Lab) -> Scene:
    return make_scene(lab)


def test_the_first_tile_is_on_the_screen_within_a_second(lab: Lab, browser: Browser, stack: Stack) -> None:
    """Of slides that no process has open, in browsers that have nothing of the page: each time, not on average."""
    slides = [lab.upload(shared_slide(SLIDE)) for _ in range(3)]
    seen: list[float] = []
    for slide in slides:
        context = browser.new_context(viewport=SIZE)
        person = Person(page=context.new_page(), origin=page_origin(stack), users=stack.access.users)
        person.sign_in(Role.ANALYST)
        context.new_cdp_session(person.page).send("Network.clearBrowserCache")
        person.page.goto(f"{person.origin}/view/{slide.slide_id}")
        seen.append(person.page.evaluate(FIRST_TILE))
        context.close()
        assert person.complaints == []
    logger.info(
        "first tile on the screen after %s ms at a load of %.1f", [round(ms) for ms in seen], os.getloadavg()[0]
    )
    assert max(seen) < 1000 * patience()


def test_a_slide_that_nobody_moved_keeps_its_address(scene: Scene, analyst: Person) -> None:
    page = look_at(analyst, scene)
    page.wait_for_timeout(1000)
    assert "#" not in page.url, "the address says where one looks only after somebody moved"
    expect(page.get_by_role("heading", level=1)).to_have_text(SLIDE.rpartition("/")[2])
    expect(page.get_by_role("img", name=re.compile("Scale bar: .* (µm|mm)"))).to_be_visible()
    assert analyst.violations() == []


def test_the_heatmap_lies_over_the_slide_and_changes_with_what_is_chosen(scene: Scene, analyst: Person) -> None:
    page = look_at(analyst, scene, f"job={scene.job.job_id}")
    expect(page.get_by_text(f"{len(scene.tiles)} tiles with scores")).to_be_visible()
    first = settled(page)
    page.get_by_label("Class").select_option("nuclear_fraction")
    of_class = settled(page)
    assert of_class != first
    analyst.look("viewer")
    page.get_by_label("Colours", exact=True).select_option("Magma")
    in_magma = settled(page)
    assert in_magma != of_class
    page.get_by_label("Opacity").fill("0.2")
    faint = settled(page)
    assert faint[0] == in_magma[0]
    assert faint[1] < in_magma[1]
    page.get_by_label("Hide scores below").fill("0.2")
    assert settled(page)[0] < faint[0]
    page.get_by_label("Heatmap", exact=True).uncheck()
    page.wait_for_timeout(300)
    assert overlay(page) == (0, 0)
    page.get_by_label("Tissue outline").check()
    assert settled(page)[0] > 0
    assert analyst.violations() == []


def test_the_heatmap_fills_in_while_the_job_runs(lab: Lab, analyst: Person, tmp_path: Path) -> None:
    # Three shards: some seconds of work each for one core.
    slide = lab.upload(write_svs(tmp_path / "large.svs", width=24_000, height=24_000, levels=(1, 4, 16)))
    job = lab.submit(slide)
    page = analyst.page
    page.goto(f"{analyst.origin}/view/{slide.slide_id}?job={job.job_id}")
    page.evaluate(FIRST_TILE)
    found = page.get_by_text(re.compile(r"^[1-9][\d,]* of 5,776$"))
    expect(found).to_be_visible(timeout=60_000)
    expect(page.get_by_text("Running", exact=True)).to_be_visible()
    part = settled(page)[0]
    assert analyst.violations() == []
    analyst.look("viewer-running")
    expect(page.get_by_text("5,776 tiles with scores")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("Completed", exact=True)).to_be_visible(timeout=60_000)
    assert settled(page)[0] > part
    expect(page.get_by_text("Files of this job")).to_be_visible()


def test_tiles_that_could_not_be_read_are_hatched_and_say_why(lab: Lab, analyst: Person) -> None:
    slide = lab.upload(shared_slide("derived/cmu-small-region.two-tiles-damaged.svs"))
    job = lab.run(slide)
    summary = json.loads(lab.results(job)["summary.json"])
    page = analyst.page
    page.goto(f"{analyst.origin}/view/{slide.slide_id}?job={job.job_id}")
    page.evaluate(FIRST_TILE)
    expect(page.get_by_text(f", {len(summary['unreadable'])} unreadable (hatched)")).to_be_visible()
    page.get_by_role("button", name="Zoom in").click()
    settled(page)
    page.wait_for_timeout(600)
    tile = summary["unreadable"][0]
    page.mouse.move(*at(page, tile["minx"] + 20, tile["miny"] + 20))
    expect(page.get_by_text("Could not be read.")).to_be_visible()
    expect(page.get_by_text(tile["reason"])).to_be_visible()
    assert analyst.violations() == []
    analyst.look("viewer-unreadable")


def test_pointing_at_a_tile_shows_the_scores_that_tiles_csv_has(scene: Scene, analyst: Person) -> None:
    page = look_at(analyst, scene, f"job={scene.job.job_id}", "#x=1110&y=1483&z=0.2")
    expect(page.get_by_text(SCORED)).to_be_visible()
    page.get_by_role("button", name="Zoom in").click()
    settled(page)
    page.wait_for_timeout(600)  # until the address has followed
    inside = [tile for tile in scene.tiles if 600 < middle_of(tile)[0] < 1600 and 900 < middle_of(tile)[1] < 2000]
    assert len(inside) > 5
    for tile in inside[:6]:
        page.mouse.move(*at(page, *middle_of(tile)))
        table = page.get_by_role("table", name="Scores of this tile")
        for column in ("haematoxylin_od", "eosin_od", "dab_od", "nuclear_fraction"):
            row = table.get_by_role("row", name=column)
            expect(row.get_by_role("cell")).to_have_text(f"{round(float(tile[column]), 4):g}")
    assert analyst.violations() == []


def test_two_results_stand_side_by_side_and_move_together(scene: Scene, analyst: Person) -> None:
    page = look_at(analyst, scene, f"job={scene.job.job_id}&job={scene.other.job_id}")
    expect(page.get_by_text(SCORED)).to_have_count(2)
    page.get_by_role("button", name="Zoom in").click()
    settled(page)
    page.wait_for_timeout(600)
    expect(page.get_by_role("application")).to_have_count(2)
    bars = page.get_by_role("img", name=re.compile("Scale bar"))
    expect(bars).to_have_count(2)
    assert bars.nth(0).get_attribute("aria-label") == bars.nth(1).get_attribute("aria-label")
    for side in range(2):
        page.get_by_label("Class").nth(side).select_option("nuclear_fraction")
    settled(page)
    assert analyst.violations() == []
    analyst.look("viewer-side-by-side")
    page.get_by_label("Compare with").select_option("The slide alone")
    expect(page).to_have_url(re.compile(f"job={scene.job.job_id}&beside=slide#"))
    expect(page.get_by_text(SCORED)).to_have_count(1)
    expect(page.get_by_role("application")).to_have_count(2)
    page.get_by_label("Compare with").select_option("Nothing")
    expect(page.get_by_role("application")).to_have_count(1)


def test_every_result_is_downloaded_with_a_word_on_what_opens_it(scene: Scene, lab: Lab, analyst: Person) -> None:
    page = look_at(analyst, scene, f"job={scene.job.job_id}")
    page.get_by_text("Files of this job").click()
    expect(page.get_by_text("Opens in: QuPath: drag it onto the open slide.")).to_be_visible()
    results = lab.results(scene.job)
    for name in results:
        expect(page.get_by_role("button", name=re.compile(f"^{re.escape(name)}"))).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("^tiles.csv")).click()
    assert download.value.suggested_filename == "tiles.csv"
    assert download.value.path().read_bytes() == results["tiles.csv"]
    assert analyst.violations() == []


def test_the_slide_leads_to_the_viewer_and_the_viewer_to_the_job(scene: Scene, analyst: Person) -> None:
    page = analyst.page
    page.goto(f"{analyst.origin}/slides/{scene.slide.slide_id}")
    page.get_by_role("link", name="View it").click()
    page.evaluate(FIRST_TILE)
    page.get_by_label("Result", exact=True).select_option(scene.job.job_id)
    expect(page.get_by_text(SCORED)).to_be_visible()
    page.get_by_role("link", name=re.compile("^stain-density")).click()
    expect(page).to_have_url(re.compile(f"/jobs/{scene.job.job_id}$"))
    page.go_back()
    expect(page.get_by_text(SCORED)).to_be_visible()
    page.get_by_role("link", name="About this slide").click()
    expect(page.get_by_role("link", name="View it")).to_be_visible()


@pytest.mark.parametrize("width", [820, 1280])
def test_it_holds_in_the_dark_and_on_a_tablet(scene: Scene, analyst: Person, width: int) -> None:
    page = analyst.page
    page.set_viewport_size({"width": width, "height": 1180 if width == 820 else 800})
    page.get_by_role("button", name="Dark mode").click()
    look_at(analyst, scene, f"job={scene.job.job_id}")
    page.get_by_label("Tissue outline").check()
    page.get_by_label("Class").select_option("nuclear_fraction")
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert analyst.violations() == []
    analyst.look("viewer-dark" if width == 1280 else "viewer-tablet")
