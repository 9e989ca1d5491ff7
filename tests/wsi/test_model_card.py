from __future__ import annotations

from dataclasses import replace

from tests.wsi.plans import plan
from wsi.builtin_models import STAIN_DENSITY
from wsi.model_card import ModelCard, OutputKind, Tolerance
from wsi.plan import Plan

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
    assert STAIN_DENSITY.digest == "a8c746f5259cab23da7b797c7c75790b2609b0e1a741715e40d15052b3251951"
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
