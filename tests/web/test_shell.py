"""Signing in, the slides, and what surrounds every page."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.slides import write_svs
from wsi.records.identity import Role

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def slides(lab, tmp_path_factory):
    """Two that are ready (of other tests there may be more), one that is rejected for having no scale."""
    folder = tmp_path_factory.mktemp("slides")
    for name, mpp in (("prostate-014.svs", 0.5), ("prostate-015.svs", 0.25), ("no-scale.svs", None)):
        lab.upload(write_svs(folder / name, width=2048, height=2048, mpp=mpp))


def test_somebody_signs_in_and_sees_the_slides_of_their_organisation(slides, analyst):
    page = analyst.page
    expect(page).to_have_title("Slides – Tessera")
    expect(page.get_by_role("row", name="prostate-014.svs")).to_contain_text("Ready")
    expect(page.get_by_role("row", name="no-scale.svs")).to_contain_text("Rejected")
    expect(page.get_by_text("analyst@first.example · analyst")).to_be_visible()
    expect(page.get_by_role("row", name="prostate-01").locator("img")).to_have_count(2)
    assert analyst.violations() == []
    analyst.look("slides")


def test_it_meets_the_contrast_of_wcag_in_the_dark_too_and_remembers_the_choice(slides, analyst):
    page = analyst.page
    page.get_by_role("button", name="Dark mode").click()
    page.reload()
    expect(page.get_by_role("row", name="prostate-014.svs")).to_be_visible()
    expect(page.get_by_role("button", name="Dark mode")).to_have_attribute("aria-pressed", "true")
    assert analyst.violations() == []
    analyst.look("slides-dark")


def test_slides_are_found_by_name_and_status_and_the_address_says_so(slides, analyst):
    page = analyst.page
    page.get_by_label("Name", exact=True).fill("prostate-01")
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_label("Status").select_option("Rejected")
    expect(page.get_by_role("heading", name="No slide matches")).to_be_visible()
    assert page.url.endswith("/slides?q=prostate-01&status=REJECTED")
    assert analyst.violations() == []


def test_a_link_moves_the_focus_to_the_title_of_the_page_it_leads_to(slides, analyst):
    page = analyst.page
    page.get_by_role("link", name="prostate-014.svs").click()
    expect(page.get_by_role("heading", level=1, name="prostate-014.svs")).to_be_focused()
    assert analyst.violations() == []
    page.go_back()
    expect(page.get_by_role("heading", level=1, name="Slides")).to_be_focused()


def test_the_keyboard_reaches_the_content_first(analyst):
    page = analyst.page
    page.reload()
    page.get_by_role("heading", name="Slides").wait_for()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()


def test_an_address_that_leads_nowhere_says_so(analyst):
    analyst.page.goto(f"{analyst.origin}/nothing/here")
    expect(analyst.page.get_by_role("heading", name="This address leads nowhere")).to_be_visible()
    assert analyst.violations() == []


def test_a_wrong_password_is_told_and_the_page_asked_for_comes_after_the_right_one(person):
    page = person.page
    page.goto(f"{person.origin}/slides?q=prostate")
    page.get_by_label("E-mail address").fill("analyst@first.example")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_have_text("The e-mail address or the password is wrong.")
    assert person.violations() == []
    person.look("sign-in")
    person.sign_in(Role.VIEWER, path="/slides?q=prostate")
    expect(page.get_by_label("Name", exact=True)).to_have_value("prostate")


def test_who_signs_out_leaves_nothing_in_the_browser(analyst):
    page = analyst.page
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in to Tessera")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def test_another_organisation_sees_none_of_the_slides(slides, person):
    person.sign_in(Role.ANALYST, tenant="second")
    expect(person.page.get_by_role("heading", name="No slides yet")).to_be_visible()
    assert person.complaints == []


def test_nobody_else_is_asked_for_anything(slides, analyst, stack):
    analyst.page.get_by_role("link", name="prostate-014.svs").wait_for()
    ours = (analyst.origin, stack.ministack.url, f"blob:{analyst.origin}")
    assert [url for url in analyst.requests if not url.startswith(ours)] == []


@pytest.mark.parametrize("width", [820, 1280])
def test_nothing_sticks_out_on_a_tablet_and_on_a_small_screen(slides, analyst, width):
    page = analyst.page
    page.set_viewport_size({"width": width, "height": 800})
    page.get_by_role("link", name="prostate-014.svs").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert analyst.violations() == []
