"""A slide that is de-identified while it is uploaded, as somebody sees it in a browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.shared_slides import shared_slide
from tests.stack.lab import Lab
from tests.web.person import Person
from tests.web.uploading import SECONDS, choose, row

pytestmark = pytest.mark.stack

REAL = "real/aperio-jpeg-20x.CMU-1-Small-Region.svs"


def test_label_and_identifiers_go_while_the_slide_is_uploaded(analyst: Person, lab: Lab, tmp_path: Path) -> None:
    page = analyst.page
    slide = tmp_path / "Doeringer.svs"
    slide.write_bytes(shared_slide(REAL).read_bytes())
    page.get_by_role("link", name="Upload", exact=True).click()
    box = page.get_by_role("checkbox", name="Remove label and identifiers")
    expect(box).not_to_be_checked()
    box.check()
    page.reload()
    expect(box).to_be_checked()
    assert analyst.violations() == []
    analyst.look("upload-deidentify")
    choose(page, slide)
    expect(row(page, slide.name)).to_contain_text("to be de-identified")
    expect(row(page, slide.name)).to_contain_text("Ready", timeout=SECONDS)
    page.get_by_role("link", name=slide.name, exact=True).click()
    expect(page).to_have_url(re.compile("/slides/[0-9a-f-]{36}$"))
    slide_id = page.url.rsplit("/", 1)[-1]
    expect(page.get_by_role("heading", level=1, name=f"{slide_id}.svs")).to_be_visible()
    expect(page.get_by_text("Label and identifiers were removed: 2 images and 16 values")).to_be_visible()
    assert analyst.violations() == []
    analyst.look("slide-deidentified")
    page.get_by_role("link", name="Slides", exact=True).click()
    expect(page.get_by_role("link", name=f"{slide_id}.svs")).to_be_visible()
    expect(page.get_by_text(slide.name)).to_have_count(0)
    assert lab.sql("SELECT id FROM slides WHERE name ILIKE %s", "%doeringer%") == []
