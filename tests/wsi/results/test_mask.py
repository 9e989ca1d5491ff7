from __future__ import annotations

import io
from dataclasses import replace

import imagecodecs
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.wsi.plans import collect_all, inspection, plan, scores_of, shard_results
from wsi.inspection.mask import DRAWN, SlideMask
from wsi.planning.plan import Plan
from wsi.results import mask
from wsi.results.sink import FolderSink
from wsi.results.stitching import stitch


def pixels(height: int, width: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((height, width)) < 0.5


@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 9))
def test_a_mask_comes_back_from_the_plan_as_it_was(height: int, width: int, seed: int):
    made = SlideMask(pixels(height, width, seed), DRAWN, {"frame": "qupath"}, 0.25)
    back = SlideMask.from_json(made.as_json())
    assert (back.pixels == made.pixels).all()
    assert (back.source, back.settings, back.pen_fraction) == (DRAWN, {"frame": "qupath"}, 0.25)


def test_the_picture_shows_the_mask_and_the_summary_where_it_lies():
    made = plan(inspection(2000, 1500), mask=pixels(75, 100, 0))
    written = [io.BytesIO(), io.BytesIO()]
    for file in written:
        mask.write(collect_all(made, shard_results(made, scores_of(made))), file)
    assert written[0].getvalue() == written[1].getvalue()
    shown = imagecodecs.png_decode(written[0].getvalue())
    assert made.mask is not None
    assert (shown == 255 * made.mask.pixels).all()
    place = mask.describe_mask(made.mask, made.inspection)["mask"]
    assert place == {"file": "tissue.png", "width": 100, "height": 75, "downsample_x": 20.0, "downsample_y": 20.0}


def test_a_plan_of_an_older_planner_gives_all_other_files(tmp_path):
    made = replace(plan(), mask=None)
    old = Plan.from_bytes(made.to_bytes())
    assert old.mask is None
    stitch(old, shard_results(old, scores_of(old)), FolderSink(tmp_path), run={})
    assert not (tmp_path / "tissue.png").exists()
    assert (tmp_path / "summary.json").exists()
