"""A job is watched to its end: by what is pushed, and by asking where WebSockets are blocked."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
import torch
from playwright.sync_api import Page, Request, WebSocketRoute, expect

from inference.models.package import read_package
from tessera.api.rest import RemoteJob, RemoteSlide
from tests.inference.packages import network, write_package
from tests.shared_slides import shared_slide
from tests.slides import write_svs
from tests.stack.lab import Lab
from tests.web.person import Person
from wsi.records.identity import Role

pytestmark = pytest.mark.stack

SIDE = 100 * 256  #: px: 10,000 tiles of 256 px, so that progress is seen
PUSHES = re.compile(r"/graphql/realtime$")


class NotANumber(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.network = network()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network(x) * float("nan")


@pytest.fixture(scope="module")
def large(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> RemoteSlide:
    path = tmp_path_factory.mktemp("slides") / "prostate-021.svs"
    return lab.upload(write_svs(path, width=SIDE, height=SIDE, levels=(1, 4, 16), tissue=(0, 0, SIDE, SIDE)))


@pytest.fixture(scope="module")
def small(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> RemoteSlide:
    return lab.upload(write_svs(tmp_path_factory.mktemp("slides") / "prostate-022.svs", width=2048, height=2048))


def open_job(person: Person, job: RemoteJob) -> Page:
    person.page.goto(f"{person.origin}/jobs/{job.job_id}")
    person.page.get_by_role("heading", level=1).wait_for()
    return person.page


def status(page: Page, words: str) -> None:
    expect(page.get_by_role("region", name="Progress").get_by_text(words, exact=True).first).to_be_visible(
        timeout=90_000
    )


def reads_of(person: Person, job: RemoteJob) -> list[float]:
    """When the page asks the API for the job, in seconds, from now on."""
    seen: list[float] = []

    def note(request: Request) -> None:
        if request.url.endswith(f"/wsi/jobs/{job.job_id}"):
            seen.append(time.monotonic())

    person.page.on("request", note)
    return seen


def pushes_to(person: Person) -> list[str]:
    """What is pushed to the page, from now on."""
    frames: list[str] = []
    person.page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(str(frame))))
    return frames


def pauses(moments: list[float]) -> list[float]:
    return [later - sooner for sooner, later in pairwise(moments)]


def test_a_job_is_watched_to_its_end_by_subscription(analyst, lab, large, start_worker):
    job = lab.submit(large)
    reads, pushed = reads_of(analyst, job), pushes_to(analyst)
    page = open_job(analyst, job)
    status(page, "Running")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    expect(page.get_by_text("0 of 10,000 · 0 %")).to_be_visible()
    page.wait_for_timeout(4000)  # the read that settles the subscription
    expect(page.get_by_text("The first tile is expected")).to_be_visible()
    assert analyst.violations() == []
    analyst.look("job-waiting")
    begun, settled = time.monotonic(), len(reads)
    start_worker()
    expect(page.get_by_text("0 of 10,000 · 0 %")).not_to_be_visible(timeout=60_000)
    left = page.locator("dd", has_text=re.compile("about|a few seconds"))
    expect(left).to_be_visible(timeout=60_000)
    analyst.look("job-running")
    assert analyst.violations() == []
    status(page, "Completed")
    expect(page.get_by_role("table", name="Result files")).to_be_visible()
    assert sum("onJobUpdate" in frame for frame in pushed) >= 5
    assert any('"COMPLETED"' in frame for frame in pushed)
    *on_the_way, last_word = reads[settled:]
    assert all(pause > 20 for pause in pauses([begun, *on_the_way])), "each half minute, and no polling between"
    assert last_word > begun
    assert analyst.violations() == []
    analyst.look("job-completed")


def test_where_websockets_are_blocked_it_is_watched_by_asking(analyst, lab, large, start_worker):
    page = analyst.page
    blocked: list[str] = []

    def block(socket: WebSocketRoute) -> None:
        blocked.append(socket.url)
        socket.close()

    page.route_web_socket(PUSHES, block)
    job = lab.submit(large)
    reads = reads_of(analyst, job)
    open_job(analyst, job)
    status(page, "Running")
    expect(page.get_by_text("Checking every 2 seconds")).to_be_visible()
    analyst.look("job-polling")
    assert analyst.violations() == []
    start_worker()
    status(page, "Completed")
    expect(page.get_by_role("table", name="Result files")).to_be_visible()
    assert blocked
    assert len(reads) >= 4
    assert 1.5 < median(pauses(reads)) < 6


def test_a_lost_connection_comes_back_by_itself(analyst, lab, small, start_worker):
    page, connections = analyst.page, []

    def pass_on(socket: WebSocketRoute) -> None:
        socket.connect_to_server()
        connections.append(socket)

    page.route_web_socket(PUSHES, pass_on)
    job = lab.submit(small)
    open_job(analyst, job)
    live = page.get_by_text("Live", exact=True)
    expect(live).to_be_visible()
    connections[0].close()
    expect(page.get_by_text("Checking every 2 seconds")).to_be_visible()
    expect(live).to_be_visible()
    assert len(connections) == 2
    start_worker()
    status(page, "Completed")


def test_results_are_downloaded_as_the_api_has_them(analyst, lab, small):
    job = lab.run(small)
    page = open_job(analyst, job)
    table = page.get_by_role("table", name="Result files")
    held = lab.results(job)
    expect(table.get_by_role("row")).to_have_count(len(held) + 1)
    expect(table.get_by_role("row", name="tiles.geojson.gz")).to_contain_text("QuPath")
    for name in ("tiles.csv", "summary.json"):
        with page.expect_download() as downloading:
            page.get_by_role("link", name=f"Download {name}", exact=True).click()
        assert downloading.value.suggested_filename == name
        assert Path(downloading.value.path()).read_bytes() == held[name]
    expect(page.get_by_text("none is mostly glass").or_(page.get_by_text("are mostly glass"))).to_be_visible()
    viewer = page.get_by_role("link", name="View it on the slide")
    assert viewer.get_attribute("href") == f"/view/{job.slide_id}?job={job.job_id}"


def test_a_job_that_fails_says_why_and_what_to_do(analyst, lab, small, tmp_path):
    package = write_package(tmp_path / "not-a-number", NotANumber())
    job = lab.wait(lab.submit(small, model=lab.register(read_package(package), package)))
    page = open_job(analyst, job)
    failure = page.get_by_role("region", name="The job failed")
    expect(failure).to_contain_text(job.sentence or "nothing")
    expect(failure).to_contain_text("model_failed")
    expect(failure).to_contain_text("Send the message above to its author")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    expect(page.get_by_text("Failed: model_failed")).to_be_visible()
    assert analyst.violations() == []
    analyst.look("job-failed")


def test_a_job_is_cancelled_after_a_second_thought_and_tried_again(analyst, lab, small, start_worker):
    job = lab.submit(small)
    page = open_job(analyst, job)
    status(page, "Running")
    page.get_by_role("button", name="Cancel the job").click()
    dialog = page.get_by_role("dialog", name="Cancel this job?")
    analyst.look("job-cancel")
    assert analyst.violations() == []
    dialog.get_by_role("button", name="Keep it running").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Cancel the job").click()
    dialog.get_by_role("button", name="Cancel the job").click()
    status(page, "Cancelled")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    assert lab.api.get_job(job.job_id).status == "CANCELLED"
    analyst.look("job-cancelled")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_url(lambda url: "/jobs/" in url and job.job_id not in url)
    start_worker()
    status(page, "Completed")
    page.get_by_role("link", name="an earlier job").click()
    expect(page.get_by_role("link", name="by a later job")).to_be_visible()
    assert analyst.violations() == []


def test_unreadable_tiles_are_counted_with_their_share_and_their_reason(analyst, lab):
    job = lab.run(lab.upload(shared_slide("derived/cmu-small-region.two-tiles-damaged.svs")))
    page = open_job(analyst, job)
    status(page, "Completed, some tiles unreadable")
    share = 100 * job.tiles_unreadable / job.tiles_planned
    expect(page.get_by_text(f"{job.tiles_unreadable} ({share:.1f} %)")).to_be_visible()
    expect(page.get_by_text("could not be read and are missing from the results")).to_be_visible()
    assert analyst.violations() == []
    analyst.look("job-unreadable")


def test_who_may_only_look_is_offered_no_more(person, lab, small, start_worker):
    job = lab.submit(small)
    person.sign_in(Role.VIEWER)
    page = open_job(person, job)
    status(page, "Running")
    expect(page.get_by_role("link", name="View it on the slide")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel the job")).to_have_count(0)
    lab.cancel(job)
    status(page, "Cancelled")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    assert person.complaints == []


def test_another_organisation_is_told_that_there_is_no_such_job(person, lab, small):
    job = lab.run(small)
    person.sign_in(Role.ANALYST, tenant="second")
    page = open_job(person, job)
    expect(page.get_by_role("alert")).to_contain_text("There is no job with this id.")
    assert person.violations() == []


@pytest.mark.parametrize("width", [820, 1280])
def test_nothing_sticks_out_on_a_tablet_and_on_a_small_screen(analyst, lab, small, width):
    job = lab.run(small)
    page = analyst.page
    page.set_viewport_size({"width": width, "height": 1000})
    page.get_by_role("button", name="Dark mode").click()
    open_job(analyst, job)
    expect(page.get_by_role("table", name="Result files")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert analyst.violations() == []
    analyst.look(f"job-dark-{width}")
