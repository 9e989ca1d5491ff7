"""The way of a slide as one person walks it in one sitting: from the file on their disk to the table of scores, with
pushes and where WebSockets are blocked; and what the people of another organisation see of it afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.shared_slides import shared_slide
from tests.stack.lab import Lab
from tests.web.person import Person
from tests.web.uploading import PARTS, SECONDS, Parts, choose, padded, row
from tests.web.viewing import OVERLAY
from wsi.records.identity import Role

pytestmark = pytest.mark.stack

REAL = "real/aperio-jpeg-20x.CMU-1-Small-Region.svs"
PUSHES = re.compile(r"/graphql/realtime$")


@pytest.fixture
def slide(tmp_path: Path) -> Path:
    """A real one of six parts, whose bytes nobody has analysed before: equal ones would have a result already."""
    path = padded(shared_slide(REAL), tmp_path / "CMU-1.svs")
    with path.open("ab") as file:
        file.write(uuid4().bytes)
    return path


def pushes_of(page: Page) -> list[str]:
    frames: list[str] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(str(frame))))
    return frames


def block_pushes(page: Page) -> list[str]:
    blocked: list[str] = []

    def refuse(socket: WebSocketRoute) -> None:
        blocked.append(socket.url)
        socket.close()

    page.route_web_socket(PUSHES, refuse)
    return blocked


def walk(page: Page, lab: Lab, slide: Path, start_worker: Callable[[], None], *, link: str) -> str:
    """From the file to tiles.csv, by what the page offers next; the job's id."""
    parts = Parts(page)
    page.get_by_role("link", name="Upload", exact=True).click()
    choose(page, slide)
    expect(row(page, slide.name)).to_contain_text("Ready", timeout=SECONDS)
    assert sorted(parts.sent) == list(range(1, PARTS + 1))
    page.get_by_role("link", name=f"Analyse {slide.name}").click()
    page.get_by_role("radio", name="stain-density").check()
    expect(page.get_by_text("The tiles are counted exactly.")).to_be_visible()
    counted = page.get_by_role("region", name="Estimate").locator("dd").first.inner_text()
    page.get_by_role("button", name="Start the job").click()
    expect(page).to_have_url(re.compile("/jobs/[0-9a-f-]{36}$"))
    progress = page.get_by_role("region", name="Progress")
    expect(progress.get_by_text(link, exact=True)).to_be_visible()
    start_worker()
    expect(progress.get_by_text("Completed", exact=True).first).to_be_visible(timeout=SECONDS)
    job_id = page.url.rpartition("/")[2]
    page.get_by_role("link", name="View it on the slide").click()
    expect(page.get_by_text(f"{counted} tiles with scores")).to_be_visible()
    page.wait_for_function(f"() => ({OVERLAY})()[0] > 0")
    page.get_by_text("Files of this job", exact=True).click()
    with page.expect_download() as downloading:
        page.get_by_role("button", name=re.compile("^tiles.csv")).click()
    saved = Path(downloading.value.path()).read_bytes()
    assert saved == lab.results(lab.api.get_job(job_id))["tiles.csv"]
    assert len(saved.splitlines()) == int(counted.replace(",", "")) + 1
    return job_id


def test_a_slide_goes_from_the_disk_to_its_scores_and_another_organisation_sees_nothing_of_it(
    person: Person, lab: Lab, slide: Path, start_worker: Callable[[], None]
) -> None:
    """In one sitting, and by somebody else in the same browser after the first person has signed out."""
    page, pushed = person.page, pushes_of(person.page)
    person.sign_in(Role.ANALYST)
    job_id = walk(page, lab, slide, start_worker, link="Live")
    assert any('"COMPLETED"' in frame for frame in pushed)
    assert person.complaints == []
    slide_id = lab.api.get_job(job_id).slide_id
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in to Tessera").wait_for()
    assert "CMU" not in page.content()
    person.sign_in(Role.ANALYST, tenant="second", path="/slides")
    expect(page.get_by_role("heading", name="No slides yet")).to_be_visible()
    page.get_by_role("link", name="Jobs", exact=True).click()
    expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
    page.get_by_role("link", name="Upload", exact=True).click()
    expect(page.get_by_role("heading", name="Unfinished uploads")).to_have_count(0)
    for path in (
        f"/slides/{slide_id}",
        f"/jobs/{job_id}",
        f"/view/{slide_id}?job={job_id}",
        f"/jobs/new?slide={slide_id}",
    ):
        page.goto(person.origin + path)
        expect(page.get_by_role("alert").first).to_contain_text("There is no")
        assert "CMU" not in page.content()


@pytest.mark.exhaustive
def test_the_same_way_leads_to_the_end_where_websockets_are_blocked(
    analyst: Person, lab: Lab, slide: Path, start_worker: Callable[[], None]
) -> None:
    blocked = block_pushes(analyst.page)
    walk(analyst.page, lab, slide, start_worker, link="Checking every 2 seconds")
    assert blocked
