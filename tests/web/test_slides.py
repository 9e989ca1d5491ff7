"""Slides in a list and each on its page: chosen, looked at, deleted."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from local.options import SHARED, SLIDES
from tests.slides import write_svs
from wsi.records.identity import Role

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def slides(lab, tmp_path_factory):
    folder = tmp_path_factory.mktemp("slides")
    names = ("biopsy-021.svs", "biopsy-022.svs", "biopsy-023.svs")
    return [lab.upload(write_svs(folder / name, width=3000, height=2000)) for name in names]


@pytest.fixture
def biopsies(slides, analyst):
    analyst.page.goto(f"{analyst.origin}/slides?q=biopsy")
    analyst.page.get_by_role("row", name="biopsy-021.svs").wait_for()
    return analyst


def test_slides_are_chosen_for_one_submission_with_their_pictures_in_sight(biopsies):
    page = biopsies.page
    expect(page.locator("td img")).to_have_count(3)
    place = page.get_by_role("table").bounding_box()
    page.get_by_label("Select biopsy-021.svs").check()
    page.get_by_label("Select biopsy-022.svs").check()
    expect(page.get_by_text("2 slides selected")).to_be_visible()
    assert page.get_by_role("table").bounding_box() == place
    assert biopsies.violations() == []
    biopsies.look("slides-chosen")
    page.set_viewport_size({"width": 820, "height": 1180})
    assert page.evaluate("document.documentElement.scrollWidth") <= 820
    biopsies.look("slides-tablet")
    page.get_by_role("link", name="Analyse them").click()
    expect(page.get_by_role("heading", name="2 slides, one job each")).to_be_visible()


def test_what_has_the_focus_is_never_below_the_bar_that_stays_in_sight(biopsies):
    page = biopsies.page
    page.set_viewport_size({"width": 1280, "height": 160})
    page.get_by_role("link", name="biopsy-021.svs").focus()
    above = page.get_by_role("link", name="biopsy-022.svs")
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    bar = page.get_by_role("button", name="Select all shown").locator("..")
    assert above.bounding_box()["y"] < bar.bounding_box()["height"]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    expect(above).to_be_focused()
    assert above.bounding_box()["y"] >= bar.bounding_box()["y"] + bar.bounding_box()["height"]


def test_the_page_of_a_slide_tells_what_inspection_found(biopsies):
    page = biopsies.page
    page.get_by_role("link", name="biopsy-021.svs").click()
    expect(page.get_by_text("0.5 µm per pixel, from the scanner")).to_be_visible()
    expect(page.get_by_text("3,000 × 2,000 pixels, 1.5 × 1 mm")).to_be_visible()
    expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()
    expect(page.locator("main img")).to_be_visible()
    assert biopsies.violations() == []
    biopsies.look("slides-one")
    page.set_viewport_size({"width": 820, "height": 1180})
    assert page.evaluate("document.documentElement.scrollWidth") <= 820
    biopsies.look("slides-one-tablet")


def test_a_slide_is_deleted_after_a_question(lab, analyst, tmp_path):
    lab.upload(write_svs(tmp_path / "mistake.svs", width=1000, height=1000))
    page = analyst.page
    page.goto(f"{analyst.origin}/slides?q=mistake")
    page.get_by_role("link", name="mistake.svs").click()
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete this slide?")
    expect(dialog).to_be_visible()
    assert analyst.violations() == []
    analyst.look("slides-delete")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="Delete")).to_be_focused()
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("mistake.svs was deleted.")).to_be_visible()
    page.goto(f"{analyst.origin}/slides?q=mistake")
    expect(page.get_by_role("heading", name="No slide matches")).to_be_visible()


def test_a_slide_without_a_scale_is_corrected_where_it_lies(lab, analyst, tmp_path):
    slide = lab.upload(write_svs(tmp_path / "no-scale.svs", width=1500, height=1000, mpp=None))
    page = analyst.page
    page.goto(f"{analyst.origin}/slides/{slide.slide_id}")
    page.get_by_role("button", name="Correct").click()
    dialog = page.get_by_role("dialog", name="Correct this slide")
    dialog.get_by_label("Scale (µm per pixel)").fill("0,25")
    assert analyst.violations() == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    dialog.get_by_role("button", name="Inspect it again").click()
    expect(page.get_by_text("no-scale.svs is being inspected again.")).to_be_visible()
    expect(page.get_by_text("0.25 µm per pixel, as stated by a user")).to_be_visible(timeout=60_000)
    expect(page.locator("main img")).to_be_visible()


def test_an_archived_slide_says_how_it_comes_back(lab, analyst, tmp_path):
    lab.upload(write_svs(tmp_path / "old-case.svs", width=1000, height=1000))
    page = analyst.page
    page.goto(f"{analyst.origin}/slides?q=old-case")
    page.get_by_role("link", name="old-case.svs").click()
    page.get_by_role("button", name="Archive").click()
    page.get_by_role("dialog").get_by_role("button", name="Archive").click()
    expect(page.get_by_text("old-case.svs was archived.")).to_be_visible()
    expect(page.get_by_text("This slide is archived.")).to_be_visible()
    page.get_by_role("button", name="Restore").click()
    page.get_by_label("When you need it").select_option("bulk")
    assert analyst.violations() == []
    analyst.look("slides-restore")
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(page.get_by_text("Being restored", exact=True)).to_be_visible()


def test_a_slide_in_a_bucket_of_the_organisation_is_registered_where_it_lies(lab, analyst, stack, tmp_path):
    page, s3 = analyst.page, stack.clients.s3
    path = write_svs(tmp_path / "archive-044.svs", width=1500, height=1000)
    s3.put_object(Bucket=SHARED, Key="2026/archive-044.svs", Body=path.read_bytes())
    page.get_by_role("button", name="Register a slide in S3").click()
    dialog = page.get_by_role("dialog", name="Register a slide in S3")
    expect(dialog.get_by_label("Address")).to_be_visible()
    dialog.get_by_label("Address").fill(f"s3://{SLIDES}/2026/archive-044.svs")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("This address lies outside the buckets and prefixes")
    assert analyst.violations() == []
    analyst.look("slides-register")
    dialog.get_by_label("Address").fill(f"s3://{SHARED}/2026/archive-044.svs")
    page.keyboard.press("Enter")
    expect(page.get_by_text("archive-044.svs was registered and is being inspected.")).to_be_visible()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="Register a slide in S3")).to_be_focused()
    expect(page.get_by_role("row", name="archive-044.svs")).to_contain_text("Ready", timeout=60_000)
    page.get_by_role("link", name="archive-044.svs").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("archive-044.svs was deleted.")).to_be_visible()
    assert s3.head_object(Bucket=SHARED, Key="2026/archive-044.svs")["ContentLength"] == path.stat().st_size
    analyst.complaints[:] = [told for told in analyst.complaints if "403" not in told]  # chromium's own


def test_a_viewer_is_offered_nothing_that_writes(slides, person):
    person.sign_in(Role.VIEWER, path=f"/slides/{slides[0].slide_id}")
    page = person.page
    expect(page.get_by_role("link", name="View it")).to_be_visible()
    expect(page.get_by_role("link", name="Analyse it")).to_have_count(0)
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)
    page.get_by_role("link", name="Slides").click()
    expect(page.get_by_role("row", name="biopsy-021.svs")).to_be_visible()
    expect(page.get_by_role("checkbox")).to_have_count(0)
    assert person.complaints == []


def test_another_organisation_gets_no_page_of_a_slide(slides, person):
    person.sign_in(Role.ANALYST, tenant="second", path=f"/slides/{slides[0].slide_id}")
    expect(person.page.get_by_role("alert").first).to_be_visible()
    assert "biopsy" not in person.page.content()
