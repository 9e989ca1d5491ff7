"""Uploading slides: parts with their progress, resuming after a reload, what was rejected, cancelling."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest
from playwright.sync_api import Page, expect

from tests.shared_slides import shared_slide
from tests.slides import write_svs
from tests.slides.dicoms import tissue
from tests.slides.mirax import write_mirax
from tests.web.person import Person
from tests.web.uploading import PARTS, SECONDS, Parts, choose, choose_folder, drop, padded, row, wait_for
from wsi.records.identity import Role
from wsi.states import SlideState

pytestmark = pytest.mark.stack

REAL = "real/aperio-jpeg-20x.CMU-1-Small-Region.svs"
CUT = "derived/cmu-small-region.truncated-1000000.svs"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A slide of six parts: what lies behind a TIFF's directories changes nothing."""
    path = write_svs(tmp_path_factory.mktemp("large") / "prostate-031.svs", width=2048, height=2048)
    return padded(path, path)


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


@pytest.fixture(params=[drop, choose_folder], ids=["dropped", "chosen"])
def choosing(request: pytest.FixtureRequest) -> Callable[[Page, Path], None]:
    return request.param


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A folder as it comes from an archive: slides of several files among what is none."""
    case = tmp_path / "case-7"
    copytree(shared_slide("derived/cmu-small-region-dicom"), case / "H&E")
    write_mirax(case / "block-1.mrxs", tissue(1536, 1024))
    write_svs(case / "block-2.svs", width=2048, height=2048)
    (case / "letter.pdf").write_bytes(b"%PDF-1.7")
    (case / "alone.mrxs").write_bytes(b"no folder")
    (case / ".DS_Store").write_bytes(b"Bud1")
    return case


def test_of_a_folder_slides_of_several_files_are_kept_together_and_what_is_none_is_said(uploading, case, choosing, lab):
    page = uploading.page
    choosing(page, case)
    left_out = page.get_by_role("region", name="Not uploaded")
    expect(left_out).to_contain_text("case-7/letter.pdf: It is no whole-slide image")
    expect(left_out).to_contain_text("case-7/alone.mrxs: Its folder of the same name is missing")
    expect(left_out).to_contain_text("case-7/.DS_Store: Hidden and system files hold no slide.")
    expect(row(page, "H&E")).to_contain_text("5 files in case-7")
    expect(row(page, "H&E")).to_contain_text("Ready", timeout=SECONDS)
    expect(row(page, "block-2.svs")).to_contain_text("Ready", timeout=SECONDS)
    mirax = row(page, "block-1.mrxs")
    expect(mirax).to_contain_text("4 files in case-7")
    expect(mirax).to_contain_text("Ready", timeout=SECONDS)
    page.get_by_role("link", name="H&E", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="H&E")).to_be_visible()
    expect(page.get_by_text("in 5 files")).to_be_visible()
    assert uploading.violations() == []
    page.get_by_role("link", name="Upload", exact=True).click()
    uploading.look("upload-folder")
    page.get_by_role("link", name="block-1.mrxs", exact=True).click()
    expect(page.get_by_text("The slide is read from a copy, which takes longer")).to_be_visible()
    (found, *_) = uploads_of(lab, "block-1.mrxs")
    assert lab.run(lab.api.get_slide(str(found["id"]))).tiles_inferred == 24


def test_what_one_tab_sends_no_other_tab_offers_or_sends_until_that_is_closed(uploading, parts, large, stack, lab):
    page = uploading.page
    slide = large.with_name("two-tabs.svs")
    slide.hardlink_to(large)
    other = Person(page=page.context.new_page(), origin=uploading.origin, users=stack.access.users)
    other.sign_in(Role.ANALYST, path="/slides?q=two-tabs")
    expect(other.page.get_by_role("heading", name="No slide matches")).to_be_visible()
    parts.last = 2
    choose(page, slide)
    wait_for(page, lambda: sorted(parts.sent) == [1, 2])
    expect(other.page.get_by_role("row", name="two-tabs.svs")).to_contain_text("Uploading")
    others = Parts(other.page)
    other.page.get_by_role("link", name="Upload", exact=True).click()
    other.page.get_by_role("heading", level=1, name="Upload").wait_for()
    with other.page.expect_response(re.compile("/slides[?].*UPLOADING")):
        other.page.reload()
    expect(other.page.get_by_role("heading", name="Unfinished uploads")).to_have_count(0)
    choose(other.page, slide)
    expect(row(other.page, slide.name)).to_contain_text("It is being uploaded in another tab of this browser.")
    assert other.violations() == []
    page.close()
    other.page.get_by_role("button", name=f"Try again {slide.name}").click()
    expect(row(other.page, slide.name)).to_contain_text("Ready", timeout=SECONDS)
    assert set(others.sent) <= {3, 4, 5, 6}  # chromium lets go of what was held back when the tab is closed
    assert [found["state"] for found in uploads_of(lab, slide.name)] == [SlideState.READY]
    assert other.complaints == []


def test_who_signs_out_while_slides_go_up_is_asked_and_finds_them_unfinished_afterwards(uploading, parts, large):
    page = uploading.page
    slide = large.with_name("signed-out.svs")
    slide.hardlink_to(large)
    parts.last = 3
    choose(page, slide)
    wait_for(page, lambda: sorted(parts.sent) == [1, 2, 3])
    page.get_by_role("link", name="Jobs", exact=True).click()
    page.get_by_role("button", name="Sign out").click()
    dialog = page.get_by_role("dialog", name="Sign out while slides are being uploaded?")
    expect(dialog).to_be_visible()
    assert uploading.violations() == []
    dialog.get_by_role("button", name="Stay signed in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_focused()
    page.get_by_role("button", name="Sign out").click()
    dialog.get_by_role("button", name="Stop and sign out").click()
    expect(page.get_by_role("heading", name="Sign in to Tessera")).to_be_visible()
    assert slide.name not in page.content()
    uploading.sign_in(Role.ANALYST, path="/upload")
    expect(page.get_by_text("50.3 MB of 84.9 MB have arrived")).to_be_visible()
    page.get_by_role("button", name=f"Cancel {slide.name}").click()
    page.get_by_role("button", name="Cancel the upload").click()
    expect(page.get_by_role("heading", name="Unfinished uploads")).to_have_count(0)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in to Tessera")).to_be_visible()


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
    (slide,) = uploads_of(lab, cancelled.name)
    page.get_by_role("button", name="Cancel cancelled.svs").click()
    assert uploading.violations() == []
    uploading.look("upload-cancel")
    page.get_by_role("button", name="Cancel the upload").click()
    expect(row(page, cancelled.name)).to_contain_text("Cancelled")
    expect(page.get_by_role("region", name="Uploads", exact=True)).to_be_focused()
    wait_for(page, lambda: uploads_of(lab, cancelled.name) == [])  # its name is erased with it
    assert lab.sql("SELECT state FROM slides WHERE id = %s", slide["id"]) == [{"state": SlideState.DELETED}]
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
    page.get_by_text("Advanced: what the file does not state").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert uploading.violations() == []
    uploading.look(f"upload-{width}")
    page.get_by_role("button", name=f"Cancel {wide.name}").click()
    page.get_by_role("button", name="Cancel the upload").click()
    expect(row(page, wide.name)).to_contain_text("Cancelled")


def test_who_may_only_look_is_not_offered_it(person):
    person.sign_in(Role.VIEWER, path="/upload")
    expect(person.page.get_by_role("heading", name="Your role cannot upload slides")).to_be_visible()
    expect(person.page.get_by_role("link", name="Upload", exact=True)).to_have_count(0)
    assert person.violations() == []
