"""Jobs: asked for with what they take counted before, and found again in their list."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from local.access import KEY_NAMES
from tests.slides import write_svs
from wsi.records.identity import Role

pytestmark = pytest.mark.stack


#: What covers the middle of what has the focus, and where: nothing.
WHAT_HIDES_THE_FOCUS = """
() => {
  const it = document.activeElement;
  const { x, y, width, height } = it.getBoundingClientRect();
  const top = document.elementFromPoint(x + width / 2, y + height / 2);
  const isSeen = top !== null && (it.contains(top) || top.contains(it) || top.closest('label')?.control === it);
  return isSeen ? [] : [it.outerHTML, y, height, innerHeight, top?.outerHTML];
}
"""


@pytest.fixture(scope="module")
def slides(lab, tmp_path_factory):
    """Two that fit the models, and one that is too coarse for one of them."""
    folder = tmp_path_factory.mktemp("slides")
    scales = (("colon-031.svs", 0.5), ("colon-032.svs", 0.5), ("colon-coarse.svs", 0.9))
    # A seed each: equal slides have equal jobs, of which one is the answer to all.
    return [
        lab.upload(write_svs(folder / name, width=4000, height=3000, mpp=mpp, seed=seed))
        for seed, (name, mpp) in enumerate(scales)
    ]


def new_job(person, *slides):
    query = "&".join(f"slide={slide.slide_id}" for slide in slides)
    person.page.goto(f"{person.origin}/jobs/new?{query}")
    person.page.get_by_role("group", name="Model").wait_for()
    return person.page


def test_a_job_is_estimated_started_and_found_in_the_list(slides, analyst):
    page = new_job(analyst, slides[0])
    assert analyst.violations() == []
    page.get_by_role("radio", name="stain-density").check()
    tiles = page.get_by_role("region", name="Estimate").locator("dd").first
    expect(tiles).to_have_text(re.compile(r"^\d+$"))
    expect(page.get_by_text("The tiles are counted exactly.")).to_be_visible()
    counted = int(tiles.inner_text())
    page.get_by_label("Label").fill("study 7")
    assert analyst.violations() == []
    analyst.look("jobs-new")
    page.get_by_role("button", name="Start the job").dblclick()
    expect(page.get_by_text("The job was started.")).to_be_visible()
    expect(page).to_have_url(re.compile("/jobs/[0-9a-f-]{36}$"))
    facts = page.get_by_role("region", name="Job details")
    expect(facts).to_contain_text("by analyst@first.example")
    expect(facts).to_contain_text(re.compile(r"Costless than \$0\.01"), timeout=60_000)
    page.get_by_role("link", name="Jobs").click()
    row = page.get_by_role("row", name="colon-031.svs")
    expect(row).to_contain_text("study 7")
    expect(row).to_contain_text("Completed", timeout=60_000)
    expect(row).to_contain_text("analyst@first.example")
    expect(row).to_contain_text("less than $0.01")
    expect(row).to_contain_text(f"{counted} tiles")
    expect(row.locator("img")).to_be_visible()
    assert analyst.violations() == []


def test_what_does_not_fit_is_said_before_it_is_started(slides, analyst):
    page = new_job(analyst, slides[2])
    page.get_by_role("radio", name="stain-density").check()
    expect(page.get_by_text("Does not fit: It has 0.9 µm per pixel; the model needs 0.5 or finer.")).to_be_visible()
    expect(page.get_by_text("No estimate is possible")).to_be_visible()
    assert analyst.violations() == []
    analyst.look("jobs-new-misfit")
    page.get_by_text("More options", exact=True).click()
    page.get_by_label("Allow upsampling").check()
    expect(page.get_by_text("Note: It has 0.9 µm per pixel and is upsampled")).to_be_visible()
    expect(page.get_by_text("The tiles are counted exactly.")).to_be_visible()
    assert analyst.violations() == []
    page.get_by_role("button", name="Dark mode").click()
    page.get_by_label("Compute again").scroll_into_view_if_needed()
    assert analyst.violations() == []
    analyst.look("jobs-new-options-dark")
    analyst.complaints[:] = [told for told in analyst.complaints if "422" not in told]  # chromium's own, on the dry run


def test_an_area_drawn_in_qupath_is_counted_in_place_of_the_tissue(slides, analyst, tmp_path):
    drawn = [[0, 0], [1024, 0], [1024, 512], [0, 512], [0, 0]]
    feature = {"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [drawn]}, "properties": {}}
    (tmp_path / "areas.geojson").write_text(json.dumps([feature]))
    page = new_job(analyst, slides[0])
    page.get_by_role("radio", name="stain-density").check()
    page.get_by_text("More options", exact=True).click()
    page.get_by_label("What is analysed").select_option("Drawn areas (GeoJSON)")
    page.get_by_label("GeoJSON file").set_input_files(tmp_path / "areas.geojson")
    expect(page.get_by_role("region", name="Estimate").locator("dd").first).to_have_text("8")
    page.get_by_label("What is analysed").select_option("A rectangle")
    for side, pixels in (("Left", "1024"), ("Top", "1024"), ("Width", "512"), ("Height", "512")):
        page.get_by_label(side).fill(pixels)
    expect(page.get_by_role("region", name="Estimate").locator("dd").first).to_have_text("4")
    assert analyst.violations() == []


def test_several_slides_are_started_at_once_and_a_refused_one_keeps_no_other(slides, analyst):
    page = new_job(analyst, *slides)
    page.get_by_role("radio", name="stain-density").check()
    expect(page.get_by_text("Excludes 1 of 3 slides")).to_be_visible()
    page.set_viewport_size({"width": 820, "height": 1180})
    assert page.evaluate("document.documentElement.scrollWidth") <= 820
    bar = page.get_by_role("region", name="Estimate")
    expect(bar).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Start 3 jobs")).to_be_in_viewport(ratio=1)
    page.set_viewport_size({"width": 820, "height": 500})
    start = page.get_by_role("button", name="Start 3 jobs")
    while not start.evaluate("it => it === document.activeElement"):  # from the model on, over all fields
        page.keyboard.press("Tab")
        assert page.evaluate(WHAT_HIDES_THE_FOCUS) == []
    page.set_viewport_size({"width": 820, "height": 1180})
    page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")
    analyst.look("jobs-new-tablet")
    page.get_by_role("button", name="Start 3 jobs").click()
    heading = page.get_by_role("heading", name="1 of 3 slides was refused; the other jobs continue")
    expect(heading).to_be_focused()
    refused = page.get_by_role("listitem").filter(has_text="colon-coarse.svs")
    expect(refused).to_contain_text("Not started")
    assert analyst.violations() == []
    analyst.look("jobs-new-refused")
    page.get_by_role("link", name="Go to the jobs").click()
    expect(page.get_by_role("row", name="colon-032.svs")).to_contain_text("Completed", timeout=60_000)
    expect(page.get_by_role("row", name="colon-coarse.svs")).to_have_count(0)
    analyst.complaints[:] = [told for told in analyst.complaints if "422" not in told]  # chromium's own


def test_jobs_are_found_by_slide_status_and_model(slides, lab, analyst):
    lab.run(slides[1])
    page = analyst.page
    page.get_by_role("link", name="Jobs").click()
    page.get_by_label("Slide or label").fill("colon-032")
    expect(page.get_by_role("row", name="colon-031.svs")).to_have_count(0)
    page.get_by_label("Status").select_option("Completed")
    page.get_by_label("Model").select_option("stain-density")
    expect(page.get_by_role("row", name="colon-032.svs").first).to_be_visible()
    expect(page).to_have_url(re.compile(re.escape("/jobs?q=colon-032&status=COMPLETED&model=stain-density") + "$"))
    page.get_by_label("Requested by").select_option("Me")
    expect(page.get_by_role("row", name=KEY_NAMES[Role.ANALYST])).to_have_count(0)  # that of the key
    page.get_by_label("Requested by").select_option("Everybody")
    expect(page.get_by_role("row", name=KEY_NAMES[Role.ANALYST]).first).to_be_visible()
    page.get_by_label("Model").select_option("epithelium")
    expect(page.get_by_role("heading", name="No job matches")).to_be_visible()
    assert analyst.violations() == []


@pytest.mark.parametrize(("width", "mode"), [(820, "light"), (1280, "light"), (1280, "dark")])
def test_the_list_of_jobs_holds_in_both_modes_and_on_a_tablet(slides, lab, analyst, width, mode):
    lab.run(slides[0])
    page = analyst.page
    page.set_viewport_size({"width": width, "height": 900})
    if mode == "dark":
        page.get_by_role("button", name="Dark mode").click()
    page.goto(f"{analyst.origin}/jobs")
    page.get_by_role("row", name="colon-031.svs").first.wait_for()
    expect(page.locator("td img").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert analyst.violations() == []
    analyst.look(f"jobs-{width}-{mode}")


def test_a_viewer_is_offered_no_submission(slides, person):
    person.sign_in(Role.VIEWER, path=f"/jobs/new?slide={slides[0].slide_id}")
    page = person.page
    expect(page.get_by_role("heading", name="Your role cannot start jobs")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Start"))).to_have_count(0)
    assert person.violations() == []
    page.get_by_role("link", name="Go to the jobs").click()
    expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    expect(page.get_by_role("link", name="Choose slides to analyse")).to_have_count(0)
    assert person.complaints == []


def test_another_organisation_sees_none_of_the_jobs(slides, lab, person):
    lab.run(slides[0])
    person.sign_in(Role.ANALYST, tenant="second", path="/jobs")
    expect(person.page.get_by_role("heading", name="No jobs yet")).to_be_visible()
    assert person.complaints == []
