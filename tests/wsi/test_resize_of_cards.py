"""How a card resizes decides numbers: plans, jobs and older workers know it. Cards without it are what they were."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from tests.wsi.plans import inspection, plan
from wsi.builtin_models import STAIN_DENSITY
from wsi.jobs import result_identity
from wsi.model_card import Channels, ModelCard, Resize
from wsi.plan import PLAN_SCHEMA, Plan
from wsi.records.jobs import JobOptions

AS_PILLOW = replace(STAIN_DENSITY, resize=Resize.PILLOW_BILINEAR)


def schema_of(made: Plan) -> int:
    return json.loads(gzip.decompress(made.to_bytes()))["schema"]


def test_a_card_from_before_keeps_fractions_and_its_plans_and_jobs_are_the_same():
    before = {name: value for name, value in STAIN_DENSITY.as_json().items() if name != "resize"}
    card = ModelCard.from_json(before)
    assert card == STAIN_DENSITY
    assert (card.resize, card.identity) == (Resize.EXACT, card.digest)
    assert plan(card=card).digest == plan().digest
    assert schema_of(plan(card=card)) == 1


@pytest.mark.parametrize("seen", [inspection(), replace(inspection(mpp=0.25), mpp_y=0.3)], ids=["square", "stretched"])
def test_a_plan_that_resizes_as_pillow_is_another_one_and_no_older_worker_takes_it(seen):
    made = plan(seen, card=AS_PILLOW)
    assert schema_of(made) == 3 < PLAN_SCHEMA
    read = Plan.from_bytes(made.to_bytes())
    assert (read.card.resize, read.digest) == (Resize.PILLOW_BILINEAR, made.digest)
    bicubic = plan(seen, card=replace(AS_PILLOW, resize=Resize.PILLOW_BICUBIC))
    assert len({made.digest, bicubic.digest, plan(seen).digest}) == 3


def test_no_older_worker_takes_a_plan_whose_network_takes_bgr():
    made = plan(card=replace(STAIN_DENSITY, channels=Channels.BGR))
    assert schema_of(made) == PLAN_SCHEMA
    assert Plan.from_bytes(made.to_bytes()).card.channels is Channels.BGR


def test_results_of_the_same_package_read_before_answer_no_new_question():
    identities = {result_identity("0" * 64, card, JobOptions()) for card in (STAIN_DENSITY, AS_PILLOW)}
    assert len(identities) == 2
