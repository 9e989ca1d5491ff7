"""Bad files, bad lines, bad answers; and people who see, hear or move otherwise than the page's makers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from local.stack import Stack
from tessera.api.rest import RemoteSlide
from tests.slides import write_svs
from tests.stack.lab import Lab
from tests.web.conftest import SIZE
from tests.web.person import Person
from tests.web.uploading import PARTS, SECONDS, Parts, choose, drop, padded, row, wait_for
from wsi.models.builtin import BUILTIN
from wsi.records.identity import Role

pytestmark = pytest.mark.stack

API = re.compile("/api/v1/wsi/")
LONG = f"a-case-whose-name-nobody-ever-breaks-{'0123456789' * 8}.svs"


#: What makes the page wider than the window; what lies in a region that scrolls by itself does not.
STICKING_OUT = """
() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')]
  .filter((it) => it.getBoundingClientRect().right > document.documentElement.clientWidth)
  .filter((it) => !it.closest('[role=region][tabindex]'))
  .map((it) => it.outerHTML.slice(0, 200))
"""


#: Each choice in a turn of its own, as fast as events can follow each other.
CHOOSE = """
async (choices) => {
  for (const [label, value] of choices) {
    const select = [...document.querySelectorAll('select')].find((it) => it.labels[0].textContent === label);
    select.value = value;
    select.dispatchEvent(new Event('change', { bubbles: true }));
    await new Promise((resolve) => setTimeout(resolve));
  }
}
"""


@pytest.fixture(scope="module")
def slide(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> RemoteSlide:
    return lab.upload(write_svs(tmp_path_factory.mktemp("slides") / LONG, width=2048, height=2048, seed=91))


def refused(person: Person, *words: str) -> None:
    """What chromium itself says of answers and connections that a test broke is no complaint."""
    person.complaints[:] = [told for told in person.complaints if not any(word in told for word in words)]


# --- bad files


def test_garbage_and_empty_files_and_equal_names_are_each_told(analyst: Person, tmp_path: Path) -> None:
    page = analyst.page
    for folder, seed in (("left", 1), ("right", 2)):
        (tmp_path / folder).mkdir()
        write_svs(tmp_path / folder / "same-name.svs", width=1024, height=1024, seed=seed)
    (tmp_path / "garbage.svs").write_bytes(bytes(range(256)) * 400)
    (tmp_path / "empty.svs").touch()
    (tmp_path / "one-byte.tiff").write_bytes(b"I")
    page.get_by_role("link", name="Upload", exact=True).click()
    names = ("left", "right", "garbage.svs", "empty.svs", "one-byte.tiff")
    drop(page, *(tmp_path / name for name in names))
    expect(page.get_by_role("region", name="Not uploaded")).to_contain_text("empty.svs: The file is empty.")
    for name in ("garbage.svs", "one-byte.tiff"):
        expect(row(page, name)).to_contain_text("Rejected", timeout=SECONDS)
        expect(row(page, name).get_by_role("alert")).to_have_text(re.compile(r"^[A-Z].{20,}\.$"))
    expect(row(page, "same-name.svs")).to_have_count(2)
    for number in range(2):
        expect(row(page, "same-name.svs").nth(number)).to_contain_text("Ready", timeout=SECONDS)
    page.get_by_role("link", name="Slides", exact=True).click()
    page.get_by_label("Name", exact=True).fill("same-name")
    expect(page.get_by_role("row", name="same-name.svs")).to_have_count(2)
    assert analyst.violations() == []


# --- bad lines


def test_an_upload_waits_for_an_unplugged_network_and_goes_on_by_itself(analyst: Person, tmp_path: Path) -> None:
    page = analyst.page
    source = write_svs(tmp_path / "small.svs", width=1024, height=1024, seed=92)
    big = padded(source, tmp_path / "unplugged.svs")
    page.get_by_role("link", name="Upload", exact=True).click()
    parts = Parts(page, last=2)
    choose(page, big)
    wait_for(page, lambda: sorted(parts.sent) == [1, 2])
    page.context.set_offline(True)
    parts.last = PARTS
    parts.let_go()
    page.wait_for_timeout(4000)
    expect(row(page, big.name)).to_contain_text("Uploading")
    page.context.set_offline(False)
    expect(row(page, big.name)).to_contain_text("Ready", timeout=SECONDS)
    assert set(parts.sent) == set(range(1, PARTS + 1))
    refused(analyst, "ERR_FAILED", "ERR_INTERNET_DISCONNECTED")
    assert analyst.complaints == []


def test_a_job_is_followed_again_after_the_network_was_unplugged(
    analyst: Person, lab: Lab, slide: RemoteSlide, start_worker: Callable[[], None]
) -> None:
    page = analyst.page
    job = lab.submit(slide)
    page.goto(f"{analyst.origin}/jobs/{job.job_id}")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    page.context.set_offline(True)
    start_worker()
    lab.wait(job)
    expect(page.get_by_role("region", name="Progress").get_by_text("Completed", exact=True)).to_have_count(0)
    page.context.set_offline(False)
    expect(page.get_by_role("region", name="Progress").get_by_text("Completed", exact=True).first).to_be_visible(
        timeout=40_000
    )
    refused(analyst, "ERR_INTERNET_DISCONNECTED")
    assert analyst.complaints == []


def test_while_the_server_is_restarted_an_upload_and_a_list_say_so_and_go_on(analyst: Person, tmp_path: Path) -> None:
    page = analyst.page
    is_away = True

    def serve(route: Route) -> None:
        if is_away:
            route.abort("connectionrefused")
        else:
            route.continue_()

    page.get_by_role("link", name="Upload", exact=True).click()
    page.route(API, serve)
    choose(page, write_svs(tmp_path / "restart.svs", width=1024, height=1024, seed=93))
    expect(row(page, "restart.svs")).to_contain_text("The server cannot be reached. Check your connection.")
    page.get_by_role("link", name="Jobs", exact=True).click()
    page.get_by_role("heading", level=1, name="Jobs").wait_for()
    expect(page.get_by_role("alert").first).to_contain_text("The server cannot be reached. Check your connection.")
    assert analyst.violations() == []
    is_away = False
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("table").or_(page.get_by_role("heading", name="No jobs yet"))).to_be_visible()
    page.get_by_role("link", name="Upload", exact=True).click()
    page.get_by_role("button", name="Try again restart.svs").click()
    expect(row(page, "restart.svs")).to_contain_text("Ready", timeout=SECONDS)
    refused(analyst, "ERR_CONNECTION_REFUSED")
    assert analyst.complaints == []


# --- bad answers


@pytest.mark.parametrize("has_sentence", [True, False], ids=["the API's own", "of a proxy"])
def test_each_refusal_is_shown_as_a_sentence(analyst: Person, has_sentence: bool) -> None:
    """Whether the API says it or a gateway that answers with a page of its own."""
    page, jobs = analyst.page, re.compile("/api/v1/wsi/jobs")
    alert = page.get_by_role("alert").first
    for status in (403, 404, 409, 413, 429, 503):  # a 401 ends the session
        page.route(jobs, partial(refuse, status=status, has_sentence=has_sentence))
        page.goto(f"{analyst.origin}/jobs")
        said = f"It was refused with {status}." if has_sentence else re.compile(r"[A-Z][^<>{}]{20,}\.")
        expect(alert).to_contain_text(said)
        expect(alert).not_to_contain_text("nginx")
        page.unroute(jobs)
        page.get_by_role("button", name="Try again").click()
        expect(alert).to_have_count(0)
        refused(analyst, str(status))
    assert analyst.complaints == []


def test_a_refusal_is_accessible(analyst: Person) -> None:
    page = analyst.page
    page.route(re.compile("/api/v1/wsi/jobs"), partial(refuse, status=403, has_sentence=True))
    page.get_by_role("link", name="Jobs", exact=True).click()
    page.get_by_role("alert").first.wait_for()
    assert analyst.violations() == []
    refused(analyst, "403")


def refuse(route: Route, *, status: int, has_sentence: bool) -> None:
    problem = {"type": "/problems/x", "title": "X", "status": status, "detail": f"It was refused with {status}."}
    if has_sentence:
        route.fulfill(status=status, body=json.dumps(problem), content_type="application/problem+json")
    else:
        route.fulfill(status=status, body="<html><h1>nginx</h1></html>", content_type="text/html")


def test_a_busy_server_does_not_make_two_jobs_of_one_wish(analyst: Person, lab: Lab, slide: RemoteSlide) -> None:
    """Two clicks, and an answer that is lost: the second try carries the key of the first."""
    page, sent = analyst.page, list[str | None]()

    def lose(route: Route) -> None:
        if route.request.method != "POST" or "dry_run" in route.request.url:
            route.continue_()
            return
        sent.append(route.request.headers.get("idempotency-key"))
        if len(sent) == 1:
            route.fetch()
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route(re.compile(r"/api/v1/wsi/jobs(\?|$)"), lose)
    before = len(lab.sql("SELECT id FROM jobs WHERE slide_id = %s", slide.slide_id))
    page.goto(f"{analyst.origin}/jobs/new?slide={slide.slide_id}")
    page.get_by_role("radio", name="stain-density").check()
    page.get_by_text("More options", exact=True).click()
    page.get_by_label("Compute again").check()
    page.get_by_role("button", name="Start the job").dblclick()
    expect(page).to_have_url(re.compile("/jobs/[0-9a-f-]{36}$"))
    assert len(sent) == 2
    assert len(set(sent)) == 1
    assert len(lab.sql("SELECT id FROM jobs WHERE slide_id = %s", slide.slide_id)) == before + 1
    page.go_back()
    expect(page.get_by_role("button", name="Start the job")).to_be_visible()
    page.go_forward()
    expect(page.get_by_role("region", name="Progress")).to_be_visible()
    refused(analyst, "ERR_CONNECTION_RESET")
    assert analyst.complaints == []


def test_choices_made_faster_than_a_slow_machine_draws_are_all_kept(
    analyst: Person, lab: Lab, slide: RemoteSlide
) -> None:
    lab.run(slide)
    page = analyst.page
    page.get_by_role("link", name="Jobs", exact=True).click()
    page.get_by_role("row", name=LONG).first.wait_for()
    page.get_by_label("Model").locator("option", has_text="stain-density").wait_for(state="attached")
    page.evaluate(CHOOSE, [["Status", "COMPLETED"], ["Model", "stain-density"], ["Requested by", "me"]])
    expect(page).to_have_url(re.compile("/jobs[?]status=COMPLETED&model=stain-density&mine=true$"))
    expect(page.get_by_label("Status")).to_have_value("COMPLETED")


# --- other ways to see, to hear and to move


def tab_to(page: Page, name: str) -> None:
    """By the tabulator alone."""
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.locator("*:focus")
        label = focused.evaluate(
            "it => it.getAttribute('aria-label') || it.labels?.[0]?.textContent || it.textContent || ''"
        )
        if name in label:
            return
    raise AssertionError(f"the tabulator does not reach {name}")


def test_the_whole_way_is_walked_by_keyboard(person: Person, stack: Stack, lab: Lab, tmp_path: Path) -> None:
    page = person.page
    user = next(user for user in stack.access.users if user.email == "analyst@first.example")
    path = write_svs(tmp_path / "by-keyboard.svs", width=1024, height=1024, seed=94)
    page.on("filechooser", lambda _: None)  # asked for beforehand: the browser takes a moment to hand choosers over
    page.goto(f"{person.origin}/upload")
    page.get_by_role("heading", name="Sign in to Tessera").wait_for()
    tab_to(page, "E-mail address")
    page.keyboard.type(user.email)
    page.keyboard.press("Tab")
    page.keyboard.type(user.password)
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Upload").wait_for()
    tab_to(page, "Choose files")
    with page.expect_file_chooser() as choosing:
        page.keyboard.press("Enter")
    choosing.value.set_files(path)
    expect(row(page, path.name)).to_contain_text("Ready", timeout=SECONDS)
    tab_to(page, f"Analyse {path.name}")
    page.keyboard.press("Enter")
    page.get_by_role("group", name="Model").wait_for()
    tab_to(page, min(BUILTIN))  # the tabulator goes to the first of a group
    wanted = page.get_by_role("radio", name="stain-density")
    for _ in BUILTIN:
        if not wanted.is_checked():
            page.keyboard.press("ArrowDown")
    expect(wanted).to_be_checked()
    expect(page.get_by_text("The tiles are counted exactly.")).to_be_visible()
    tab_to(page, "Start the job")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="stain-density on by-keyboard.svs")).to_be_focused()
    expect(page.get_by_role("table", name="Result files")).to_be_visible(timeout=SECONDS)
    tab_to(page, "Download tiles.csv")
    with page.expect_download() as downloading:
        page.keyboard.press("Enter")
    assert downloading.value.suggested_filename == "tiles.csv"
    assert person.complaints == []


def test_nothing_moves_for_whoever_asked_for_less_motion(
    analyst: Person, lab: Lab, slide: RemoteSlide, start_worker: Callable[[], None]
) -> None:
    page = analyst.page
    page.emulate_media(reduced_motion="reduce")
    job = lab.submit(slide)
    held: list[Route] = []
    for path in ("/slides", "/upload", f"/jobs/new?slide={slide.slide_id}", f"/jobs/{job.job_id}"):
        page.goto(analyst.origin + path)
        page.get_by_role("heading", level=1).wait_for()
        assert page.evaluate("document.getAnimations().length") == 0
    page.route(re.compile("/api/v1/wsi/jobs[?]"), lambda route: held.append(route))
    page.get_by_role("link", name="Jobs", exact=True).click()
    page.get_by_role("status").filter(has_text="Loading jobs").wait_for()
    page.wait_for_timeout(1000)
    assert page.evaluate("document.getAnimations().length") == 0
    lab.cancel(job)


@pytest.mark.parametrize("width", [640, 320], ids=["200 %", "400 %"])
def test_it_reflows_when_it_is_enlarged_with_names_that_nobody_breaks(
    analyst: Person, lab: Lab, slide: RemoteSlide, width: int
) -> None:
    """WCAG 1.4.10: 1,280 px at 400 % are 320; only tables may be scrolled to their sides, by themselves."""
    page = analyst.page
    job = lab.run(slide)
    page.set_viewport_size({"width": width, "height": 400})
    slide_id, job_id = slide.slide_id, job.job_id
    for path in (
        *("/slides", f"/slides/{slide_id}", "/upload"),
        *("/jobs", f"/jobs/{job_id}", f"/jobs/new?slide={slide_id}"),
    ):
        page.goto(analyst.origin + path)
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_load_state("networkidle")
        assert page.evaluate(STICKING_OUT) == [], path
        assert analyst.violations() == [], path


def test_times_are_those_of_the_readers_zone(browser: Browser, stack: Stack, lab: Lab, slide: RemoteSlide) -> None:
    (found,) = lab.sql("SELECT created_at FROM slides WHERE id = %s", slide.slide_id)
    for zone in ("Pacific/Auckland", "America/St_Johns"):
        context = browser.new_context(viewport=SIZE, timezone_id=zone)
        person = Person(
            page=context.new_page(), origin=stack.as_json()["page_url"].rstrip("/"), users=stack.access.users
        )
        person.sign_in(Role.VIEWER, path=f"/slides/{slide.slide_id}")
        there: datetime = found["created_at"].astimezone(ZoneInfo(zone))
        shown = f"{there.day} {there:%b} {there:%Y}, {there:%H:%M}"
        added = person.page.locator("dl").get_by_text(shown, exact=True)
        expect(added).to_be_visible()
        written = added.get_attribute("datetime")
        assert written is not None
        assert datetime.fromisoformat(written).astimezone(UTC) == found["created_at"].astimezone(UTC)
        assert person.complaints == []
        context.close()
