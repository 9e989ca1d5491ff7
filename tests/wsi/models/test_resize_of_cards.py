"""How a card resizes decides numbers: plans, jobs and older workers know it. Cards without it are what they were."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from tests.wsi.plans import inspection, plan
from wsi.jobs.jobs import compute_result_identity
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import PLAN_SCHEMA, Plan
from wsi.records.jobs import JobOptions
from wsi.records.model_card import Boxes, Channels, ModelCard, Resize
from wsi.records.stain_normalisation import PUBLISHED, Reinhard

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
    assert schema_of(made) == 4 < PLAN_SCHEMA
    assert Plan.from_bytes(made.to_bytes()).card.channels is Channels.BGR


NEW = (
    replace(STAIN_DENSITY, boxes=Boxes.RESAMPLED),
    replace(STAIN_DENSITY, stain_normalisation=PUBLISHED),
    replace(STAIN_DENSITY, stain_normalisation=Reinhard(means=(60.0, 20.0, -10.0), stds=(9.0, 8.0, 7.0))),
)


@pytest.mark.parametrize("card", NEW, ids=["boxes", "macenko", "reinhard"])
def test_no_older_worker_takes_a_plan_of_boxes_with_fractions_or_of_normalised_stains(card):
    made = plan(card=card)
    assert schema_of(made) == 5
    read = Plan.from_bytes(made.to_bytes())
    assert (read.card, read.grid, read.digest) == (card, made.grid, made.digest)
    assert made.digest != plan().digest


def test_a_card_and_a_grid_without_them_are_written_as_before():
    assert not {"boxes", "stain_normalisation"} & STAIN_DENSITY.as_json().keys()
    assert "fractions" not in json.loads(gzip.decompress(plan().to_bytes()))["grid"]


def test_a_card_with_a_stain_normalisation_of_a_newer_version_is_refused():
    newer = {**STAIN_DENSITY.as_json(), "stain_normalisation": {"method": "vahadane"}}
    with pytest.raises(ValueError, match="vahadane"):
        ModelCard.from_json(newer)


def test_results_of_the_same_package_read_before_answer_no_new_question():
    identities = {compute_result_identity("0" * 64, card, JobOptions()) for card in (STAIN_DENSITY, AS_PILLOW)}
    assert len(identities) == 2
