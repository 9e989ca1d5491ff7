"""What becomes of good, damaged and impossible slides, as a lab sees it through the API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local.options import SHARED
from tessera.api.rest import Api, RemoteSlide
from tessera.api.transport import Transport
from tests.shared_slides import shared_slide
from tests.slides import write_svs
from tests.stack.lab import Lab, eventually
from wsi.errors import Forbidden, NotFound
from wsi.states import JobState, SlideState

pytestmark = pytest.mark.stack

WHOLE = "real/aperio-jpeg-20x.CMU-1-Small-Region.svs"
DAMAGED = "derived/cmu-small-region.two-tiles-damaged.svs"
#: Level-0 px of the file's tiles 65 and 66: 240-px tiles, ten a row.
BROKEN = {65: (1200, 1440), 66: (1440, 1440)}


def overlaps(minx: int, miny: int, side: int, tile: tuple[int, int]) -> bool:
    return minx < tile[0] + 240 and minx + side > tile[0] and miny < tile[1] + 240 and miny + side > tile[1]


def test_damaged_tiles_cost_the_model_tiles_that_overlap_them_and_nothing_else(lab: Lab) -> None:
    lab.stack.workers.start()
    whole = lab.run(lab.upload(shared_slide(WHOLE)))
    damaged = lab.run(lab.upload(shared_slide(DAMAGED)))
    assert whole.status == JobState.COMPLETED
    assert damaged.status == JobState.COMPLETED_WITH_UNREADABLE_TILES

    head, *rows = lab.results(whole)["tiles.csv"].decode().splitlines()
    results = lab.results(damaged)
    damaged_head, *damaged_rows = results["tiles.csv"].decode().splitlines()
    touched = {
        row: [number for number, tile in BROKEN.items() if overlaps(*map(int, row.split(",")[:2]), 257, tile)]
        for row in rows
    }
    assert damaged_head == head
    assert damaged_rows == [row for row in rows if not touched[row]]

    unreadable = json.loads(results["summary.json"])["unreadable"]
    lost = [numbers for numbers in touched.values() if numbers]
    assert len(unreadable) == damaged.tiles_unreadable == len(lost) > 0
    for tile, numbers in zip(unreadable, lost, strict=True):
        assert [number for number in (65, 66) if f"file tile {number}:" in tile["reason"]] == numbers


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("broken/random-text.svs", "not_a_slide"),
        ("broken/html-error-page.svs", "not_a_slide"),
        ("derived/cmu-small-region.truncated-1000000.svs", "truncated"),
        ("broken/mrxs-without-data-folder.CMU-1-Saved-1_16.mrxs", "missing_files"),
        ("derived/cmu-small-region.crop512-nompp-lzw.tif", "no_mpp"),
    ],
)
def test_what_can_not_be_analysed_is_rejected_with_a_sentence(lab: Lab, name: str, reason: str) -> None:
    slide = lab.upload(shared_slide(name))
    assert (slide.status, slide.reason) == (SlideState.REJECTED, reason)
    assert slide.sentence
    assert slide.sentence.endswith((".", ")."))
    assert "Traceback" not in slide.sentence


def test_a_slide_without_resolution_runs_once_it_is_stated(lab: Lab) -> None:
    lab.stack.workers.start()
    slide = lab.upload(shared_slide("derived/cmu-small-region.crop512-nompp-lzw.tif"), mpp=0.5)
    assert slide.status == SlideState.READY
    job = lab.run(slide)
    assert job.status == JobState.COMPLETED
    assert job.tiles_planned == job.tiles_inferred > 0


def test_another_tenant_sees_neither_slide_nor_job(lab: Lab) -> None:
    lab.stack.workers.start()
    slide = lab.upload(shared_slide(WHOLE))
    job = lab.run(slide)
    transport = Transport(lab.stack.api_url, lab.stack.other_api_key)
    try:
        other = Api(transport)
        with pytest.raises(NotFound):
            other.get_slide(slide.slide_id)
        with pytest.raises(NotFound):
            other.get_job(job.job_id)
        with pytest.raises(NotFound):
            other.list_results(job.job_id)
    finally:
        transport.close()


def test_a_slide_by_reference_runs_for_the_tenant_of_its_source_alone(lab: Lab, tmp_path: Path) -> None:
    lab.stack.workers.start()
    slide = write_svs(tmp_path / "scan.svs", width=1200, height=900, mpp=0.5)
    lab.stack.clients.s3.put_object(Bucket=SHARED, Key="2026/scan.svs", Body=slide.read_bytes())
    slide_id = lab.api.register_slide(f"s3://{SHARED}/2026/scan.svs")

    def ready() -> RemoteSlide | None:
        seen = lab.api.get_slide(slide_id)
        return seen if seen.status == SlideState.READY else None

    assert lab.run(eventually(ready, seconds=60, what="inspection")).status == JobState.COMPLETED
    transport = Transport(lab.stack.api_url, lab.stack.other_api_key)
    try:
        other, answers = Api(transport), set[str]()
        for key in ("2026/scan.svs", "2026/missing.svs"):
            with pytest.raises(Forbidden) as refusal:
                other.register_slide(f"s3://{SHARED}/{key}")
            answers.add(refusal.value.sentence)
        assert len(answers) == 1
    finally:
        transport.close()
