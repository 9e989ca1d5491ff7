"""The viewer where things go wrong, and at its edges: a store that fails, a token that ends, a slide that goes away."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from local.stack import Stack
from tessera.api.rest import RemoteJob, RemoteSlide
from tests.shared_slides import shared_slide
from tests.slides.scn import REGION, write_scn
from tests.stack.lab import Lab
from tests.web.conftest import SIZE
from tests.web.person import Person
from tests.web.viewing import FIRST_TILE, SCORED, SLIDE, at, overlay, page_origin, placed, settled
from wsi.records.identity import Role

pytestmark = pytest.mark.stack

TILES = re.compile(r"/tiles/\d+/")
SENTENCE = "The store of slides does not answer; try again in a minute."

#: How opaque the middle of the slide's own canvas is.
MIDDLE = """
() => {
  const canvas = document.querySelector('.openseadragon-canvas canvas:not([data-overlay])');
  const pixel = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  pixel.drawImage(canvas, -(canvas.width >> 1), -(canvas.height >> 1));
  return pixel.getImageData(0, 0, 1, 1).data[3];
}
"""


#: Whether any of the slide is in sight.
SOMEWHERE = """
() => {
  const canvas = document.querySelector('.openseadragon-canvas canvas:not([data-overlay])');
  if (!canvas || canvas.width === 0) return false;
  const copy = new OffscreenCanvas(64, 64).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0, 64, 64);
  return copy.getImageData(0, 0, 64, 64).data.some((value, at) => at % 4 === 3 && value > 0);
}
"""


@pytest.fixture(scope="module")
def slide(lab: Lab) -> RemoteSlide:
    return lab.upload(shared_slide(SLIDE))


@pytest.fixture(scope="module")
def job(lab: Lab, slide: RemoteSlide) -> RemoteJob:
    return lab.run(slide)


def refusing(status: int, code: str, when: Callable[[Request], bool]) -> Callable[[Route], None]:
    """In the API's words, as a gateway or a function would that cannot do better."""
    problem = {"type": f"/problems/{code}", "title": code, "status": status, "detail": SENTENCE}

    def answer(route: Route) -> None:
        if not when(route.request):
            route.continue_()
            return
        headers = {"Content-Type": "application/problem+json", "Retry-After": "1", "Cache-Control": "no-store"}
        route.fulfill(status=status, headers=headers, body=json.dumps(problem))

    return answer


def test_a_store_that_fails_is_told_of_and_its_tiles_come_by_themselves_later(
    slide: RemoteSlide, person: Person
) -> None:
    page, is_down = person.page, [True]
    person.sign_in(Role.ANALYST)
    page.route(TILES, refusing(503, "source_unavailable", lambda _: is_down[0]))
    page.goto(f"{person.origin}/view/{slide.slide_id}")
    expect(page.get_by_text(SENTENCE)).to_be_visible(timeout=30_000)
    assert page.evaluate(MIDDLE) == 0, "a tile that is missing is not white: the stage is seen through it"
    is_down[0] = False
    page.evaluate(FIRST_TILE)
    expect(page.get_by_text(SENTENCE)).to_have_count(0, timeout=30_000)


def test_tiles_that_are_missing_are_seen_coarsely_and_asked_for_by_a_button(slide: RemoteSlide, person: Person) -> None:
    page, is_down, asked = person.page, [True], Counter[str]()
    person.sign_in(Role.ANALYST)
    finest = refusing(404, "source_missing", lambda request: is_down[0] and "/tiles/3/" in request.url)
    page.route(TILES, finest)
    page.on("request", lambda request: asked.update([request.url] if "/tiles/3/" in request.url else []))
    page.goto(f"{person.origin}/view/{slide.slide_id}#x=1110&y=1483&z=1")
    page.evaluate(FIRST_TILE)
    expect(page.get_by_text(SENTENCE)).to_be_visible()
    assert page.evaluate(MIDDLE) == 255, "the coarser level is seen in its place"
    page.wait_for_timeout(3000)
    assert max(asked.values()) <= 2, "what will not pass is not asked for again and again"
    is_down[0] = False
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text(SENTENCE)).to_have_count(0)
    page.wait_for_timeout(1500)
    expect(page.get_by_text(SENTENCE)).to_have_count(0)


def test_a_token_that_ends_while_tiles_load_is_renewed_once(slide: RemoteSlide, person: Person) -> None:
    page, old, renewals = person.page, list[str](), list[str]()
    person.sign_in(Role.ANALYST)

    def is_old(request: Request) -> bool:
        token = request.headers["authorization"]
        old.append(token)
        return token == old[0]

    page.route(TILES, refusing(401, "unauthenticated", is_old))
    page.on(
        "request", lambda request: renewals.append("") if "REFRESH_TOKEN_AUTH" in (request.post_data or "") else None
    )
    page.goto(f"{person.origin}/view/{slide.slide_id}#x=1110&y=1483&z=0.6")
    page.evaluate(FIRST_TILE)
    page.wait_for_timeout(1500)
    assert len(renewals) == 1
    assert len(set(old)) == 2, "all that came later had the new token"
    assert Counter(old)[old[0]] < 30
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)


def test_a_slide_that_is_deleted_while_it_is_looked_at_says_so(lab: Lab, person: Person) -> None:
    doomed = lab.upload(shared_slide(SLIDE))
    page = person.page
    person.sign_in(Role.ANALYST)
    page.goto(f"{person.origin}/view/{doomed.slide_id}")
    page.evaluate(FIRST_TILE)
    lab.transport.call("DELETE", f"/slides/{doomed.slide_id}", repeatable=True)
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    expect(page.get_by_role("alert")).to_contain_text("does not exist any more")
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("The slide was deleted.")


def test_a_rejected_slide_says_why_it_is_not_shown(lab: Lab, person: Person) -> None:
    refused = lab.upload(shared_slide("broken/random-text.svs"))
    person.sign_in(Role.ANALYST)
    person.page.goto(f"{person.origin}/view/{refused.slide_id}")
    expect(person.page.get_by_text(f"The slide cannot be shown: {refused.sentence}")).to_be_visible()
    asked = [url for url in person.requests if url.endswith(f"{refused.slide_id}/pyramid")]
    assert len(asked) == 1


def test_a_slide_that_tells_what_was_scanned_begins_with_that_and_ends_where_its_overview_does(
    lab: Lab, analyst: Person, tmp_path: Path
) -> None:
    page = analyst.page
    scn = lab.upload(write_scn(tmp_path / "region.scn"))
    page.goto(f"{analyst.origin}/view/{scn.slide_id}")
    page.evaluate(FIRST_TILE)
    expect(page.get_by_text("Only an overview of this slide can be shown")).to_be_visible()
    for _ in range(12):
        page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(1500)
    x, y, zoom = placed(page)
    left, top, width, height = REGION
    assert (x, y) == pytest.approx((left + width / 2, top + height / 2), abs=2), "the middle of what was scanned"
    assert zoom <= 4 / 2.9, "4 px on the screen at most for each of the overview's, a third as fine as level 0"
    page.get_by_role("application").focus()
    page.keyboard.press("0")
    page.wait_for_timeout(1500)
    box = page.get_by_role("application").bounding_box()
    assert box is not None
    whole = min(box["width"] / width, box["height"] / height)
    assert placed(page)[2] == pytest.approx(whole, rel=0.05)


def test_an_address_may_say_anything(slide: RemoteSlide, job: RemoteJob, analyst: Person) -> None:
    page = analyst.page
    for place in ("x=-1e9&y=1e12&z=1e6", "x=1110&y=1483&z=1e-9", "x=NaN&y=2&z=1", "x=&y=&z=0", "z=-4&x=1&y=1"):
        page.goto("about:blank")
        page.goto(f"{analyst.origin}/view/{slide.slide_id}?job={job.job_id}#{place}")
        page.wait_for_function(SOMEWHERE)
        expect(page.get_by_role("img", name=re.compile("Scale bar"))).to_be_visible()


def test_back_and_forward_lead_to_where_one_was(slide: RemoteSlide, job: RemoteJob, analyst: Person) -> None:
    page = analyst.page
    page.goto(f"{analyst.origin}/slides/{slide.slide_id}")
    page.get_by_role("link", name="View it").click()
    page.evaluate(FIRST_TILE)
    page.get_by_label("Result", exact=True).select_option(job.job_id)
    expect(page.get_by_text(SCORED)).to_be_visible()
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(1200)
    shared = page.url
    assert "#x=" in shared
    page.go_back()
    expect(page.get_by_role("link", name="View it")).to_be_visible()
    page.go_forward()
    page.evaluate(FIRST_TILE)
    expect(page.get_by_text(SCORED)).to_be_visible()
    assert page.url == shared
    page.wait_for_timeout(800)
    assert page.url == shared, "it stays where it was"


def test_a_window_that_changes_and_a_fine_screen_keep_picture_and_overlay_together(
    slide: RemoteSlide, job: RemoteJob, browser: Browser, stack: Stack
) -> None:
    context = browser.new_context(viewport=SIZE, device_scale_factor=2)
    page = context.new_page()
    person = Person(page=page, origin=page_origin(stack), users=stack.access.users)
    person.sign_in(Role.VIEWER)
    page.goto(f"{person.origin}/view/{slide.slide_id}?job={job.job_id}#x=1110&y=1483&z=0.3")
    page.evaluate(FIRST_TILE)
    expect(page.get_by_text(SCORED)).to_be_visible()
    table = page.get_by_role("table", name="Scores of this tile")
    for size in (SIZE, {"width": 1000, "height": 700}, {"width": 1600, "height": 900}):
        page.set_viewport_size(size)  # pyright: ignore[reportArgumentType]
        page.wait_for_timeout(500)
        assert settled(page)[0] > 0
        assert drawn_as_fine_as_the_screen(page)
        page.get_by_role("button", name="Zoom in").click()
        page.get_by_role("button", name="Zoom out").click()
        page.wait_for_timeout(1500)
        page.mouse.move(*at(page, 1028 + 60, 1285 + 60))
        expect(table).to_be_visible()
        expect(page.get_by_text("x 1,028, y 1,285 px")).to_be_visible()
    assert overlay(page)[0] > 0
    context.close()
    assert person.complaints == []


def drawn_as_fine_as_the_screen(page: Page) -> bool:
    return page.evaluate(
        """() => [...document.querySelectorAll('.openseadragon-canvas canvas')].slice(0, 2).every(
          (canvas) => Math.abs(canvas.width - canvas.getBoundingClientRect().width * devicePixelRatio) <= 2)"""
    )
