from __future__ import annotations

from dataclasses import replace

import pytest

from tests.wsi.plans import inspection, plan
from wsi.errors import RejectReason, SlideRejected
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.dry_run import estimate
from wsi.planning.plan import Plan
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard, OutputKind, Tolerance

#: What cards were given after the first plans were made.
LATER = {"precision", "output", "mpp_range", "tolerance", "files", "organ"}


def old_json(card: ModelCard) -> dict:
    return {name: value for name, value in card.as_json().items() if name not in LATER}


def test_a_card_without_the_later_fields_is_what_it_was():
    card = ModelCard.from_json(old_json(STAIN_DENSITY))
    assert card == STAIN_DENSITY
    assert (card.precision, card.output, card.tolerance) == ("fp32", OutputKind.REGRESSION, Tolerance())


def test_a_plan_of_an_old_card_and_its_digest_are_unchanged():
    old = plan(card=ModelCard.from_json(old_json(STAIN_DENSITY)))
    assert STAIN_DENSITY.digest == "c8ee116ee4cc1d65a041a683aeb5bc7e376f7ee9659b4bd5ec93cdb9308f458f"
    assert old.numerics.precision == "fp32"
    assert old.digest == plan().digest


def test_the_cards_precision_and_tolerance_are_stamped_on_the_plan_and_part_of_its_digest():
    card = replace(STAIN_DENSITY, precision="bf16", mpp_range=(0.2, 0.6), tolerance=Tolerance(max_difference=1e-3))
    made = plan(card=card)
    read = Plan.from_bytes(made.to_bytes())
    assert read.numerics.precision == "bf16"
    assert read.card == card
    assert made.digest != plan().digest


def test_fields_of_a_newer_card_are_left_out():
    newer = {**STAIN_DENSITY.as_json(), "overlap": 0.5, "tolerance": {"max_difference": 0.1, "rank_changes": 3}}
    assert ModelCard.from_json(newer).tolerance == Tolerance(max_difference=0.1)


def test_the_need_of_stains_is_in_a_card_only_where_it_is_stated():
    assert "needs_stains" not in STAIN_DENSITY.as_json()
    stated = replace(STAIN_DENSITY, needs_stains=True)
    assert ModelCard.from_json(stated.as_json()) == stated


RANGED = replace(STAIN_DENSITY, mpp_range=(0.2, 0.6), allow_upsampling=True)


@pytest.mark.parametrize(
    ("mpp", "words"),
    [
        (0.25, None),
        (0.5, None),
        (0.2, None),
        (0.196, "hold for"),
        (0.19, "hold for"),
        (0.55, "enlarged"),
        (0.61, "enlarged"),
    ],
)
def test_a_slide_outside_the_cards_range_of_scales_is_warned_of(mpp, words):
    warnings = plan(inspection(mpp=mpp), card=RANGED).warnings[len(inspection().warnings) :]
    assert (warnings == ()) if words is None else (words in warnings[0] and len(warnings) == 1)


def test_beyond_the_range_a_card_enlarges_no_slide_unless_the_job_asks_for_it():
    for refused in (
        lambda: plan(inspection(mpp=0.7), card=RANGED),
        lambda: estimate(inspection(mpp=0.7), RANGED, JobOptions(), 1.0, stored=None),
    ):
        with pytest.raises(SlideRejected) as rejected:
            refused()
        assert rejected.value.reason is RejectReason.SLIDE_TOO_COARSE
    asked = JobOptions(allow_upsampling=True)
    assert estimate(inspection(mpp=0.7), RANGED, asked, 1.0, stored=None).tiles
    assert len(plan(inspection(mpp=0.7), card=RANGED, options=asked).warnings) == len(inspection().warnings) + 2
    assert plan(inspection(mpp=0.7), card=replace(RANGED, mpp_range=None)).tiles.size
