"""What was never scanned has the colour that is asked for: the card's edge colour for models, white for tissue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tifffile

from inference.models.stains.density import measure_densities
from tests.inference.cases import run_all, whole_plan
from wsi.inspection.thumbnail import make_thumbnail
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.model_card import EdgeFill
from wsi.slide.codecs.samples import to_rgb
from wsi.slide.coding import Colour, Extra
from wsi.slide.opening import open_local_source, open_slide

STAINED = (150, 60, 140)


@pytest.fixture
def half_scanned(tmp_path: Path) -> Path:
    """512 x 512 px, stained on the left and transparent on the right, whatever colour lies there."""
    pixels = np.zeros((512, 512, 4), np.uint8)
    pixels[..., :3] = STAINED
    pixels[:, :256, 3] = 255
    path = tmp_path / "half.tif"
    tifffile.imwrite(
        path,
        pixels,
        photometric="rgb",
        extrasamples=["unassalpha"],
        tile=(256, 256),
        compression="zlib",
        resolution=(20_000, 20_000),
        resolutionunit="CENTIMETER",
    )
    return path


@pytest.mark.parametrize("ground", [0, 128, 255])
@pytest.mark.parametrize(("share", "expected"), [(255, 200), (0, None), (51, None)])
@pytest.mark.parametrize("extra", [Extra.ASSOCIATED, Extra.UNASSOCIATED])
def test_alpha_is_put_on_the_ground_that_is_asked_for(ground, share, expected, extra):
    colour = round(200 * share / 255) if extra is Extra.ASSOCIATED else 200
    samples = np.array([[[colour, colour, colour, share]]], np.uint8)
    found = to_rgb(samples, Colour.RGB, extra, ground)
    mixed = 200 * share / 255 + ground * (255 - share) / 255
    assert np.abs(found - (expected if expected is not None else mixed)).max() <= 1


@pytest.mark.parametrize("ground", [0, 255])
def test_colours_on_black_and_on_white_are_the_nearest_ones_whoever_read_them(ground):
    colour, share = np.meshgrid(np.arange(256, dtype=np.uint8), np.arange(256, dtype=np.uint8))
    found = to_rgb(np.stack((colour, colour, colour, share), axis=2), Colour.RGB, Extra.UNASSOCIATED, ground)
    mixed = (colour.astype(float) * share + float(ground) * (255 - share.astype(float))) / 255
    np.testing.assert_array_equal(found[..., 0], mixed.round())


def test_the_overview_that_tissue_is_found_on_is_white_where_nothing_was_scanned(half_scanned):
    reader = open_slide(open_local_source(half_scanned))
    seen = make_thumbnail(reader, 512).pixels
    assert (seen[:, :256] == STAINED).all()
    assert (seen[:, 256:] == 255).all()
    reader.close()


@pytest.mark.parametrize(("edge", "grey"), [(EdgeFill.WHITE, 255), (EdgeFill.BLACK, 0)])
def test_a_model_sees_its_cards_edge_colour_where_nothing_was_scanned(half_scanned, edge, grey):
    reader = open_slide(open_local_source(half_scanned))
    plan = whole_plan(reader, card=replace(STAIN_DENSITY, edge_fill=edge))
    result = run_all(plan, reader)
    for (x, _), scores in zip(plan.tiles, result.scores, strict=True):
        box = np.full((256, 256, 3), grey if x else STAINED, np.uint8)
        np.testing.assert_array_equal(scores, measure_densities(box))
    reader.close()
