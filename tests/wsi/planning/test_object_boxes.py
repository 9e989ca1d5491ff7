"""Boxes around given objects."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wsi.given.files import write_points
from tests.wsi.plans import IndexedSlide, inspection
from tests.wsi.plans import plan as grid_plan
from wsi.errors import JobFailed
from wsi.given.objects import GivenObjects
from wsi.given.reading import read_objects
from wsi.inspection.examination import Examination
from wsi.inspection.mask import SlideMask
from wsi.jobs.planning import make_plan
from wsi.models.builtin import NUCLEI, STAIN_DENSITY
from wsi.planning.plan import Plan
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard
from wsi.records.outline import Frame, Outline
from wsi.records.slides import Inspection

SIDE = 256  #: of a box of stain density at 0.5 um per px


def given_at(centres: Sequence[tuple[float, float]], frame: Frame = Frame.FULL) -> GivenObjects:
    return read_objects(write_points(centres, together=False), frame)


def plan(
    objects: GivenObjects,
    seen: Inspection | None = None,
    *,
    card: ModelCard = STAIN_DENSITY,
    options: JobOptions | None = None,
    tissue: bool = True,
) -> Plan:
    seen = seen or inspection()
    return make_plan(
        slide_digest="5e" * 32 + "-1",
        slide_uris=[("slide.svs", "memory", "1")],
        reader=IndexedSlide(seen),
        examination=Examination(
            inspection=seen, thumbnail_jpeg=b"", mask=SlideMask(np.full((64, 64), tissue, dtype=np.bool_))
        ),
        card=card,
        package_uri=None,
        options=replace(options or JobOptions(), objects=objects.as_option()),
        shard_tiles=None,
        threads=1,
        objects=objects,
    )


def test_each_object_has_the_models_box_around_its_centre() -> None:
    made = plan(given_at([(1000, 700), (1000.5, 700.4), (0, 0), (1999.9, 1499.9)]))
    assert made.tiles.tolist() == [[-128, -128], [872, 572], [873, 572], [1872, 1372]]
    assert made.objects is not None
    assert made.objects.numbers.tolist() == [2, 0, 1, 3]
    assert (made.grid.side, made.grid.columns, made.grid.rows) == (SIDE, 0, 0)
    assert made.mask is None
    assert made.schema == 6


def test_objects_of_one_box_keep_the_order_of_the_file() -> None:
    made = plan(given_at([(500, 500), (300, 300), (500, 500), (500.2, 500)]))
    assert made.tiles.tolist() == [[172, 172], [372, 372], [372, 372], [372, 372]]
    assert made.objects is not None
    assert made.objects.numbers.tolist() == [1, 0, 2, 3]


@given(st.permutations([(100, 200), (100, 100), (640.5, 3), (640.25, 3), (1200, 1400)]))
def test_the_order_of_the_file_moves_no_box(centres: list[tuple[float, float]]) -> None:
    made = plan(given_at(centres))
    assert made.objects is not None
    found = {centres[number]: tile for number, tile in zip(made.objects.numbers, made.tiles.tolist(), strict=True)}
    assert found == {
        (100, 200): [-28, 72],
        (100, 100): [-28, -28],
        (640.5, 3): [513, -125],
        (640.25, 3): [512, -125],
        (1200, 1400): [1072, 1272],
    }


def test_a_plan_is_read_as_it_was_written_and_plans_without_objects_have_no_trace_of_them() -> None:
    made = plan(given_at([(500, 500), (300, 300)]))
    read = Plan.from_bytes(made.to_bytes())
    assert read.digest == made.digest
    assert read.objects is not None
    assert read.objects.numbers.tolist() == [1, 0]
    assert b"objects" not in gzip.decompress(grid_plan().to_bytes())
    assert made.digest != plan(given_at([(300, 300), (500, 500)])).digest
    options = JobOptions(objects=given_at([(1, 1)], Frame.QUPATH).as_option())
    assert JobOptions.from_json(options.as_json()) == options
    assert "objects" not in JobOptions().as_json()


def test_objects_in_qupaths_frame_are_moved_by_its_crop() -> None:
    cropped = replace(inspection(), bounds=(400, 300, 1000, 1000))
    assert plan(given_at([(500, 500)], Frame.QUPATH), cropped).tiles.tolist() == [[772, 672]]
    assert plan(given_at([(500, 500)]), cropped).tiles.tolist() == [[372, 372]]


def test_objects_off_the_slide_have_no_tile_and_are_counted() -> None:
    made = plan(given_at([(500, 500), (2000, 10), (-1, 10)]))
    assert made.tiles.tolist() == [[372, 372]]
    assert made.objects is not None
    assert made.objects.count == 3
    assert (
        "2 of 3 objects have their centre outside of the slide of 2000 x 1500 px: they have no values." in made.warnings
    )
    with pytest.raises(JobFailed, match="All objects lie outside of the slide of 2000 x 1500 px"):
        plan(given_at([(5000, 500)]))


def test_a_region_leaves_out_the_objects_outside_of_it() -> None:
    made = plan(given_at([(500, 500), (1200, 10)]), options=JobOptions(region=(1000, 0, 5000, 500)))
    assert made.tiles.tolist() == [[1072, -118]]
    assert any("1 of 2 objects have their centre outside of the region on the slide" in each for each in made.warnings)


def test_objects_that_lie_on_no_tissue_are_reported() -> None:
    made = plan(given_at([(500, 500)]), tissue=False)
    assert any(each.startswith("Only 0 of 1 objects lie where tissue was found") for each in made.warnings)
    assert not any("tissue" in each for each in plan(given_at([(500, 500)])).warnings)


def test_small_tiles_on_a_large_slide_are_no_matter_of_the_grid() -> None:
    seen = inspection(200_000, 200_000, mpp=0.5)
    made = plan(given_at([(500, 500)]), seen, card=replace(STAIN_DENSITY, tile_px=32, input_px=32))
    assert made.tiles.tolist() == [[484, 484]]


def test_objects_are_refused_with_what_they_exclude() -> None:
    with pytest.raises(JobFailed, match="finds objects itself"):
        plan(given_at([(500, 500)]), card=NUCLEI)
    drawn = Outline((((((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 0.0))),),))
    with pytest.raises(JobFailed, match="objects or a drawn region, not both"):
        plan(given_at([(500, 500)]), options=JobOptions(outline=drawn))
