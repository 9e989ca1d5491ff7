"""Uploading slides: parts with their progress, resuming after a reload, what was rejected, cancelling."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.shared_slides import shared_slide
from tests.slides import write_svs
from wsi.digests import PART_SIZE
from wsi.records.identity import Role
from wsi.states import SlideState

pytestmark = pytest.mark.stack

PARTS = 6
REAL = "real/aperio-jpeg-20x.CMU-1-Small-Region.svs"
CUT = "derived/cmu-small-region.truncated-1000000.svs"
SECONDS = 60_000  #: ms that six parts and an inspection may take here


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A slide of six parts: what lies behind a TIFF's directories changes nothing."""
    path = write_svs(tmp_path_factory.mktemp("large") / "prostate-031.svs", width=2048, height=2048)
    return padded(path, path)


def padded(source: Path, path: Path) -> Path:
    path.write_bytes(source.read_bytes())
    with path.open("ab") as file:
        file.truncate((PARTS - 1) * PART_SIZE + 1_000_000)
    return path


class Parts:
    """What the browser sends to S3; parts above `last` hang, as on a line that is dead."""

    def __init__(self, page: Page, *, last: int = PARTS) -> None:
        self.sent: list[int] = []
        self.last = last
        self._held: list[Route] = []
        page.route(re.compile(r"[?&]partNumber="), self._pass)

    def _pass(self, route: Route) -> None:
        if route.request.method == "PUT" and number_of(route.request) > self.last:
            self._held.append(route)
            return
        if route.request.method == "PUT":
            self.sent.append(number_of(route.request))
        route.continue_()

    def let_go(self) -> None:
        for route in self._held:
            route.abort()


def number_of(request: Request) -> int:
    found = re.search(r"[?&]partNumber=(\d+)", request.url)
    assert found
    return int(found.group(1))


def wait_for(page: Page, look: Callable[[], bool]) -> None:
    """Without standing in the way of what the browser tells."""
    for _ in range(300):
        if look():
            return
        page.wait_for_timeout(100)
    raise AssertionError("not within 30 s")


@pytest.fixture
def uploading(analyst):
    """The analyst, at the page Upload."""
    analyst.page.get_by_role("link", name="Upload", exact=True).click()
    expect(analyst.page.get_by_role("heading", level=1, name="Upload")).to_be_visible()
    return analyst


@pytest.fixture
def parts(uploading):
    parts = Parts(uploading.page)
    yield parts
    parts.let_go()


def choose(page: Page, *paths: Path) -> None:
    page.get_by_label("Files of slides", exact=True).set_input_files(paths)


def drop(page: Page, *paths: Path) -> None:
    """As from the system's file manager: the page gets real entries, folders too."""
    tools = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        tools.send("Input.dispatchDragEvent", {"type": kind, "x": 400, "y": 200, "data": data})


def row(page: Page, name: str):
    return page.get_by_role("region", name="Uploads", exact=True).get_by_role("listitem").filter(has_text=name)


def uploads_of(lab, name: str) -> list[dict]:
    return lab.sql("SELECT id, state FROM slides WHERE name = %s", name)


def test_a_real_slide_goes_up_in_parts_with_its_progress_on_every_page(uploading, parts, tmp_path):
    page = uploading.page
    slide = padded(shared_slide(REAL), tmp_path / "CMU-1.svs")
    parts.last = 3
    uploading.look("upload")
    choose(page, slide)
    wait_for(page, lambda: sorted(parts.sent) == [1, 2, 3])
    progress = page.get_by_role("progressbar", name="Upload of CMU-1.svs")
    expect(progress).to_have_js_property("value", 59)
    expect(row(page, slide.name)).to_contain_text("50.3 MB of 84.9 MB")
    assert uploading.violations() == []
    uploading.look("upload-sending")
    page.get_by_role("link", name="Slides", exact=True).click()
    page.get_by_role("link", name="Uploading 59 %").click()
    parts.last = PARTS
    page.get_by_role("button", name="Pause CMU-1.svs").click()
    expect(row(page, slide.name)).to_contain_text("Paused")
    page.get_by_role("button", name="Resume CMU-1.svs").click()
    expect(row(page, slide.name)).to_contain_text("Ready", timeout=SECONDS)
    assert sorted(parts.sent) == [1, 2, 3, 4, 5, 6]
    expect(page.get_by_text("The slide is ready.")).to_be_visible()
    page.get_by_role("link", name=slide.name, exact=True).click()
    expect(page.get_by_role("heading", level=1, name=slide.name)).to_be_visible()


def test_after_a_reload_the_same_file_goes_on_where_it_broke_off(uploading, parts, large, lab):
    page = uploading.page
    dialogs: list[str] = []

    def leave(dialog) -> None:
        dialogs.append(dialog.type)
        dialog.accept()

    page.on("dialog", leave)
    parts.last = 4
    choose(page, large)
    wait_for(page, lambda: sorted(parts.sent) == [1, 2, 3, 4])
    expect(row(page, large.name)).to_contain_text("67.1 MB of 84.9 MB")
    page.reload()
    assert dialogs == ["beforeunload"]
    expect(page.get_by_text("67.1 MB of 84.9 MB have arrived")).to_be_visible()
    assert uploading.violations() == []
    uploading.look("upload-unfinished")
    parts.sent.clear()
    parts.last = PARTS
    choose(page, large)
    expect(row(page, large.name)).to_contain_text("Ready", timeout=SECONDS)
    assert sorted(parts.sent) == [5, 6]
    assert [slide["state"] for slide in uploads_of(lab, large.name)] == [SlideState.READY]
    expect(page.get_by_role("heading", name="Unfinished uploads")).to_have_count(0)


def test_folders_are_dropped_and_what_is_no_slide_is_named(uploading, tmp_path):
    page = uploading.page
    case = tmp_path / "case-7"
    series = case / "series"
    series.mkdir(parents=True)
    for file in sorted(shared_slide("derived/cmu-small-region-dicom").iterdir()):
        (series / file.name).write_bytes(file.read_bytes())
    write_svs(case / "block-2.svs", width=2048, height=2048)
    (case / "letter.pdf").write_bytes(b"%PDF-1.7")
    (case / "alone.mrxs").write_bytes(b"no folder")
    drop(page, case)
    left_out = page.get_by_role("region", name="Not uploaded")
    expect(left_out).to_contain_text("case-7/letter.pdf: It is no slide")
    expect(left_out).to_contain_text("case-7/alone.mrxs: Its folder of the same name is missing")
    expect(row(page, "5 files in series")).to_contain_text("Ready", timeout=SECONDS)
    expect(row(page, "block-2.svs")).to_contain_text("Ready", timeout=SECONDS)
    assert uploading.violations() == []
    uploading.look("upload-folder")


def test_a_damaged_file_says_why_it_was_rejected(uploading):
    page = uploading.page
    choose(page, shared_slide(CUT))
    expect(row(page, "truncated")).to_contain_text("Rejected", timeout=SECONDS)
    expect(row(page, "truncated")).to_contain_text(re.compile(r"cut short|incomplete|ends before|truncated", re.I))
    assert uploading.violations() == []
    page.get_by_role("button", name="Dark mode").click()
    assert uploading.violations() == []
    uploading.look("upload-rejected-dark")


def test_who_cancels_leaves_nothing_on_the_server(uploading, parts, large, lab, stack):
    page = uploading.page
    cancelled = large.with_name("cancelled.svs")
    cancelled.hardlink_to(large)
    parts.last = 2
    choose(page, cancelled)
    wait_for(page, lambda: sorted(parts.sent) == [1, 2])
    page.get_by_role("button", name="Cancel cancelled.svs").click()
    assert uploading.violations() == []
    uploading.look("upload-cancel")
    page.get_by_role("button", name="Cancel the upload").click()
    expect(row(page, cancelled.name)).to_contain_text("Cancelled")
    expect(page.get_by_role("region", name="Uploads", exact=True)).to_be_focused()
    wait_for(page, lambda: [slide["state"] for slide in uploads_of(lab, cancelled.name)] == [SlideState.DELETED])
    (slide,) = uploads_of(lab, cancelled.name)
    open_ones = stack.clients.s3.list_multipart_uploads(Bucket="tessera-slides").get("Uploads", [])
    assert [upload["Key"] for upload in open_ones if str(slide["id"]) in upload["Key"]] == []
    wait_for(page, lambda: page.evaluate("localStorage.getItem('tessera.uploads')") is None)


@pytest.mark.parametrize("width", [820, 1280])
def test_nothing_sticks_out_while_slides_go_up(uploading, parts, large, width):
    page = uploading.page
    page.set_viewport_size({"width": width, "height": 1000})
    wide = large.with_name(f"a-case-with-a-rather-long-name-{'0123456789' * 9}-{width}.svs")
    wide.hardlink_to(large)
    parts.last = 1
    header = page.get_by_role("banner").bounding_box()
    choose(page, wide)
    wait_for(page, lambda: parts.sent == [1])
    expect(row(page, wide.name)).to_contain_text("16.8 MB of 84.9 MB")
    assert page.get_by_role("banner").bounding_box() == header
    page.get_by_text("Advanced: what the file does not say").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert uploading.violations() == []
    uploading.look(f"upload-{width}")
    page.get_by_role("button", name=f"Cancel {wide.name}").click()
    page.get_by_role("button", name="Cancel the upload").click()
    expect(row(page, wide.name)).to_contain_text("Cancelled")


def test_who_may_only_look_is_not_offered_it(person):
    person.sign_in(Role.VIEWER, path="/upload")
    expect(person.page.get_by_role("heading", name="Your role does not upload slides")).to_be_visible()
    expect(person.page.get_by_role("link", name="Upload", exact=True)).to_have_count(0)
    assert person.violations() == []
