"""The viewer on the embedded stack: a real slide, its heatmap, two results side by side."""

from __future__ import annotations

import csv
import io
import json
import logging
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

from client.api import Job, Slide
from local.stack import Stack
from tests.shared_slides import shared_slide
from tests.slides import write_svs
from tests.stack.lab import Lab
from tests.web.conftest import SIZE
from tests.web.person import Person
from wsi.records.identity import Role

logger = logging.getLogger(__name__)

pytestmark = pytest.mark.stack

SLIDE = "real/aperio-jpeg-20x.CMU-1-Small-Region.svs"

SCORED = re.compile(r"^[\d,]+ tiles with scores")

#: Of the overlay: how many of its pixels are not empty, and the sum of their colours, so that a change is seen.
OVERLAY = """
() => {
  const canvas = document.querySelector('canvas[data-overlay]');
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  let painted = 0, sum = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] > 0) { painted += 1; sum += data[at] + 2 * data[at + 1] + 3 * data[at + 2] + 5 * data[at + 3]; }
  }
  return [painted, sum];
}
"""

#: ms from the begin of the load to the frame in which the slide is first seen.
FIRST_TILE = """
() => new Promise((resolve, reject) => {
  setTimeout(() => { reject(new Error('the slide is not seen in the middle of the stage within 20 s')); }, 20000);
  const pixel = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const look = () => {
    const canvas = document.querySelector('.openseadragon-canvas canvas:not([data-overlay])');
    if (canvas && canvas.width > 0) {
      pixel.drawImage(canvas, -(canvas.width >> 1), -(canvas.height >> 1));
      if (pixel.getImageData(0, 0, 1, 1).data[3] > 0) return resolve(performance.now());
    }
    requestAnimationFrame(look);
  };
  look();
})
"""


@dataclass(frozen=True)
class Scene:
    slide: Slide
    job: Job
    other: Job  #: of the same slide
    tiles: list[dict[str, str]]  #: rows of tiles.csv of `job`


@pytest.fixture(scope="module")
def scene(lab: Lab) -> Scene:
    slide = lab.upload(shared_slide(SLIDE))
    job = lab.run(slide)
    other = lab.run(slide, mpp=0.25)  # so that its tiles are twice as large
    table = lab.results(job)["tiles.csv"].decode()
    return Scene(slide=slide, job=job, other=other, tiles=list(csv.DictReader(io.StringIO(table))))


def page_origin(stack: Stack) -> str:
    return stack.as_json()["page_url"].rstrip("/")


def overlay(page: Page) -> tuple[int, int]:
    painted, total = page.evaluate(OVERLAY)
    return painted, total


def settled(page: Page) -> tuple[int, int]:
    """The overlay once two looks at it agree."""
    before = overlay(page)
    for _ in range(40):
        page.wait_for_timeout(100)
        now = overlay(page)
        if now == before and now[0] > 0:
            return now
        before = now
    raise AssertionError(f"the overlay does not come to rest, or stays empty: {before}")


def look_at(person: Person, scene: Scene, query: str = "", place: str = "") -> Page:
    person.page.goto(f"{person.origin}/view/{scene.slide.slide_id}?{query}{place}")
    person.page.evaluate(FIRST_TILE)
    return person.page


def patience() -> float:
    """How many times longer than on an idle machine a thing may take: what waits for a core is not the page's fault."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


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
    page.get_by_label("Outline of the tissue").check()
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


def test_a_finger_chooses_a_tile_and_the_whole_screen_is_filled(scene: Scene, browser: Browser, stack: Stack) -> None:
    context = browser.new_context(viewport={"width": 820, "height": 1180}, has_touch=True)
    page = context.new_page()
    person = Person(page=page, origin=page_origin(stack), users=stack.access.users)
    person.sign_in(Role.VIEWER)
    look_at(person, scene, f"job={scene.job.job_id}", "#x=1110&y=1483&z=0.3")
    expect(page.get_by_text(SCORED)).to_be_visible()
    box = page.get_by_role("application").bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.get_by_role("table", name="Scores of this tile")).to_be_visible()
    page.get_by_role("button", name="Full screen").tap()
    page.wait_for_timeout(500)
    assert page.evaluate("document.fullscreenElement !== null")
    page.get_by_role("button", name="Full screen").tap()
    page.wait_for_timeout(500)
    assert page.evaluate("document.fullscreenElement === null")
    context.close()
    assert person.complaints == []


def at(page: Page, x: float, y: float) -> tuple[float, float]:
    """Where a level-0 pixel is on the screen. The address says what lies in the middle of the stage."""
    expect(page).to_have_url(re.compile("&z="))
    middle_x, middle_y, zoom = (float(part.split("=")[1]) for part in page.url.split("#")[1].split("&"))
    box = page.get_by_role("application").first.bounding_box()
    assert box is not None
    left, top = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    return left + (x - middle_x) * zoom, top + (y - middle_y) * zoom


def middle_of(tile: dict[str, str]) -> tuple[float, float]:
    return float(tile["minx"]) + float(tile["width"]) / 2, float(tile["miny"]) + float(tile["height"]) / 2


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


def test_the_highest_tiles_are_reached_by_keyboard(scene: Scene, analyst: Person) -> None:
    page = look_at(analyst, scene, f"job={scene.job.job_id}")
    page.get_by_text("Highest tiles").press("Enter")
    page.get_by_role("button", name=re.compile("^Go to tile 1, ")).press("Enter")
    highest = max(scene.tiles, key=lambda tile: float(tile["haematoxylin_od"]))
    table = page.get_by_role("table", name="Scores of this tile")
    expect(table.get_by_role("row", name="haematoxylin_od").get_by_role("cell")).to_have_text(
        f"{round(float(highest['haematoxylin_od']), 4):g}"
    )
    x, y = (math.floor(value + 0.5) for value in middle_of(highest))  # as a browser rounds
    expect(page).to_have_url(re.compile(f"#x={x}&y={y}&z="))


def test_the_keyboard_moves_and_zooms_and_the_address_says_where(scene: Scene, analyst: Person) -> None:
    page = look_at(analyst, scene, place="#x=1000&y=1000&z=0.5")
    page.get_by_role("application").focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    expect(page).not_to_have_url(re.compile("#x=1000&"))
    x, _, zoom = (float(part.split("=")[1]) for part in page.url.split("#")[1].split("&"))
    assert x > 1000
    assert zoom > 0.5
    shared = page.url
    page.goto(f"{analyst.origin}/slides")
    page.goto(shared)
    page.evaluate(FIRST_TILE)
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(1000)
    assert float(page.url.split("z=")[1]) == pytest.approx(2 * zoom, rel=0.02)


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
    page.get_by_label("Beside it").select_option("The slide alone")
    expect(page).to_have_url(re.compile(f"job={scene.job.job_id}&beside=slide#"))
    expect(page.get_by_text(SCORED)).to_have_count(1)
    expect(page.get_by_role("application")).to_have_count(2)
    page.get_by_label("Beside it").select_option("Nothing")
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
    page.get_by_role("link", name="Look at it").click()
    page.evaluate(FIRST_TILE)
    page.get_by_label("Result", exact=True).select_option(scene.job.job_id)
    expect(page.get_by_text(SCORED)).to_be_visible()
    page.get_by_role("link", name=re.compile("^stain-density")).click()
    expect(page).to_have_url(re.compile(f"/jobs/{scene.job.job_id}$"))
    page.go_back()
    expect(page.get_by_text(SCORED)).to_be_visible()
    page.get_by_role("link", name="About this slide").click()
    expect(page.get_by_role("link", name="Look at it")).to_be_visible()


@pytest.mark.parametrize("width", [820, 1280])
def test_it_holds_in_the_dark_and_on_a_tablet(scene: Scene, analyst: Person, width: int) -> None:
    page = analyst.page
    page.set_viewport_size({"width": width, "height": 1180 if width == 820 else 800})
    page.get_by_role("button", name="Dark mode").click()
    look_at(analyst, scene, f"job={scene.job.job_id}")
    page.get_by_label("Outline of the tissue").check()
    page.get_by_label("Class").select_option("nuclear_fraction")
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert analyst.violations() == []
    analyst.look("viewer-dark" if width == 1280 else "viewer-tablet")


def placed(page: Page) -> tuple[float, float, float]:
    """Level-0 pixel in the middle of the stage, and pixels on the screen a level-0 pixel, as the address says."""
    x, y, zoom = (float(part.split("=")[1]) for part in page.url.split("#")[1].split("&"))
    return x, y, zoom


@dataclass(frozen=True)
class Fingers:
    """On a screen that is touched: as the browser's own input, since a page's events can not be told from it."""

    page: Page
    cdp: CDPSession

    def move(self, *ways: tuple[tuple[float, float], tuple[float, float]], steps: int = 12) -> None:
        """Each finger along its way, all at once; then they are lifted."""
        for step in range(steps + 1):
            part = step / steps
            points = [
                {"x": x0 + (x1 - x0) * part, "y": y0 + (y1 - y0) * part, "id": finger}
                for finger, ((x0, y0), (x1, y1)) in enumerate(ways)
            ]
            kind = "touchStart" if step == 0 else "touchMove"
            self.cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            self.page.wait_for_timeout(16)
        self.cdp.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def at_rest(self) -> tuple[float, float, float]:
        self.page.wait_for_timeout(1200)  # the glide after a finger was lifted, and until the address follows
        return placed(self.page)


def test_fingers_move_and_zoom_the_slide_and_nothing_else(scene: Scene, browser: Browser, stack: Stack) -> None:
    context = browser.new_context(viewport={"width": 820, "height": 1180}, has_touch=True, is_mobile=True)
    page = context.new_page()
    person = Person(page=page, origin=page_origin(stack), users=stack.access.users)
    person.sign_in(Role.VIEWER)
    look_at(person, scene, f"job={scene.job.job_id}", "#x=1110&y=1483&z=0.4")
    expect(page.get_by_text(SCORED)).to_be_visible()
    box = page.get_by_role("application").bounding_box()
    assert box is not None
    middle_x, middle_y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    fingers = Fingers(page, context.new_cdp_session(page))
    fingers.move(((middle_x, middle_y), (middle_x - 120, middle_y - 80)), steps=30)
    x, y, zoom = fingers.at_rest()
    assert x > 1110 + 250, "the slide follows the finger: 120 px to the left are 300 of the slide"
    assert y > 1483 + 150
    assert zoom == pytest.approx(0.4, rel=0.01)
    apart = [((middle_x + s * 40, middle_y), (middle_x + s * 120, middle_y)) for s in (-1, 1)]
    fingers.move(*apart)
    _, _, pinched = fingers.at_rest()
    assert pinched == pytest.approx(3 * zoom, rel=0.25), "fingers three times as far apart"
    fingers.move(*[(end, begin) for begin, end in apart])
    _, _, back = fingers.at_rest()
    assert back == pytest.approx(zoom, rel=0.25)
    for _ in range(2):
        page.touchscreen.tap(middle_x, middle_y)
        page.wait_for_timeout(60)
    _, _, tapped = fingers.at_rest()
    assert tapped == pytest.approx(2 * back, rel=0.05)
    assert page.evaluate("[scrollX, scrollY, visualViewport.scale]") == [0, 0, 1], "the page itself stays"
    context.close()
    assert person.complaints == []


def test_keys_alone_find_the_scores_of_a_tile(scene: Scene, analyst: Person) -> None:
    page = look_at(analyst, scene, f"job={scene.job.job_id}", "#x=1110&y=1483&z=0.5")
    expect(page.get_by_text(SCORED)).to_be_visible()
    page.get_by_role("application").focus()
    page.keyboard.press("Enter")
    table = page.get_by_role("table", name="Scores of this tile")
    expect(table).to_be_visible()
    spoken = page.get_by_role("status").filter(has_text="haematoxylin_od")
    first = spoken.inner_text()
    for _ in range(4):  # 40 px of the screen each
        page.keyboard.press("ArrowRight", delay=60)
        page.wait_for_timeout(100)
    expect(spoken).not_to_have_text(first)
    page.wait_for_timeout(1000)
    x, y, _ = placed(page)
    (tile,) = [
        tile
        for tile in scene.tiles
        if 0 <= x - float(tile["minx"]) < float(tile["width"]) and 0 <= y - float(tile["miny"]) < float(tile["height"])
    ]
    score = f"{round(float(tile['haematoxylin_od']), 4):g}"
    expect(spoken).to_have_text(re.compile(f"^haematoxylin_od {re.escape(score)}, x {int(tile['minx']):,}, "))
    page.keyboard.press("Escape")
    expect(table).to_have_count(0)
    page.keyboard.press("0")
    page.wait_for_timeout(1000)
    assert placed(page)[2] < 0.5, "the whole slide"
    slider = page.get_by_label("Hide scores below")
    slider.focus()
    painted = settled(page)
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    assert settled(page)[0] < painted[0]
    assert analyst.violations() == []
