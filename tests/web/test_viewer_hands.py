"""The viewer without a mouse: fingers on a tablet, and keys alone."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

from local.stack import Stack
from tests.stack.lab import Lab
from tests.web.person import Person
from tests.web.viewing import FIRST_TILE, SCORED, Scene, look_at, make_scene, middle_of, page_origin, placed, settled
from wsi.records.identity import Role

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def scene(lab: Lab) -> Scene:
    return make_scene(lab)


@dataclass(frozen=True)
class Fingers:
    """On a screen that is touched: as the browser's own input, since a page's events cannot be told from it."""

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


def test_the_highest_tiles_are_reached_by_keyboard(scene: Scene, analyst: Person) -> None:
    page = look_at(analyst, scene, f"job={scene.job.job_id}")
    page.get_by_text("Highest-scoring tiles").press("Enter")
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
    # The address is written once the picture rests: while a key zooms, OpenSeadragon lets no key move it.
    expect(page).not_to_have_url(re.compile(r"z=0\.5$"))
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
