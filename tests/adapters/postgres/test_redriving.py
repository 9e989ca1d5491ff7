"""Redriving of dead letters by the owner: what is still wanted goes on, once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.adapters.postgres.world import PostgresWorld
from tests.contracts.dead_letters.settling import arrive, of_job
from tests.contracts.ledger_world import (
    commit,
    kinds,
    lease,
    new_job,
    plan,
    queued_job,
    ready_slide,
    running_job,
    stitching_job,
    submit,
    topics,
    uploaded_slide,
)
from wsi.errors import FailReason
from wsi.jobs.jobs import make_retry
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.jobs import Job, JobFilter
from wsi.records.models import ModelVersion
from wsi.records.operations.dead_letters import DeadLetter, LetterOutcome
from wsi.states import JobState, ShardState, SlideState
from wsi.tracing import make_traceparent

PINS = {
    "model": STAIN_DENSITY.name,
    "model_version": STAIN_DENSITY.version,
    "model_digest": STAIN_DENSITY.digest,
}


@pytest.fixture(autouse=True)
def model(world: PostgresWorld) -> None:
    """Register a model with a whole card, of which the identity of a retry is made."""
    world.system.register_model(
        ModelVersion(
            name=STAIN_DENSITY.name,
            version=STAIN_DENSITY.version,
            digest=STAIN_DENSITY.digest,
            card=STAIN_DENSITY.as_json(),
            package_uri=None,
        )
    )


def end(world: PostgresWorld, queue: str, body: dict[str, Any]) -> None:
    """Have two letters arrive, of which the second one ends what they are about."""
    assert [arrive(world, queue, body) for _ in range(2)] == [LetterOutcome.RESENT, LetterOutcome.ENDED]


def redrive(world: PostgresWorld, queue: str | None = None) -> list[str | None]:
    return [letter.redrive for letter in world.administration.redrive_dead_letters(queue=queue, limit=100)]


def list_open(world: PostgresWorld) -> tuple[DeadLetter, ...]:
    return world.administration.list_dead_letters(queue=None, only_open=True, limit=100)


def find_jobs(world: PostgresWorld, old: Job) -> list[Job]:
    page = world.tenants.list_jobs(world.actor, JobFilter(slide_id=old.slide_id), cursor=None, limit=10)
    return [job for job in page.items if job.id != old.id]


def shard_states(world: PostgresWorld, job_id: UUID) -> list[str]:
    with world.worker.begin_transaction() as cursor:
        found = cursor.execute("SELECT state FROM shards WHERE job_id = %s ORDER BY index", (job_id,))
        return [row["state"] for row in found]


def test_a_failed_jobs_remaining_shards_are_computed_once_however_often_it_is_redriven(world: PostgresWorld) -> None:
    old = running_job(world, (10, 5, 5), **PINS, label="study")
    assert commit(world, lease(world, old, 0))
    end(world, "shards-high", of_job(old, shard=1))
    (letter,) = list_open(world)
    assert (letter.queue, letter.job_id, letter.shard, letter.outcome) == ("shards-high", str(old.id), 1, "ended")
    with ThreadPoolExecutor(4) as pool:
        answers = [answer for found in pool.map(lambda _: redrive(world), range(4)) for answer in found]
    (retry,) = find_jobs(world, old)
    assert answers == [f"job {retry.id} computes the rest"]
    assert (retry.retry_of, retry.label, retry.created_by) == (old.id, "study", world.actor.subject)
    plan(world, retry.id, (10, 5, 5))
    assert shard_states(world, retry.id) == [ShardState.DONE, ShardState.QUEUED, ShardState.QUEUED]
    assert (list_open(world), redrive(world)) == ((), [])
    assert world.tenants.get_job(world.actor, old.id).state is JobState.FAILED, "final states stay final"
    assert kinds(world, old)[-1] == "retried"
    assert ("owner", "job.redrive", str(old.id)) in world.audit_lines(world.actor)


def test_a_job_that_its_requester_tried_again_is_not_computed_twice(world: PostgresWorld) -> None:
    old = queued_job(world, **PINS)
    end(world, "plan", of_job(old))
    slide = world.tenants.get_slide(world.actor, old.slide_id)
    answer = world.tenants.submit_job(
        world.actor,
        new_job(slide, **PINS, retry_of=old.id, identity=_identity(world, old)),
        idempotency=None,
        reuse_finished=False,
        share_live=True,
    )
    assert redrive(world) == [f"nobody waits for it any more: job {answer.job.id} answers it"]
    assert [job.id for job in find_jobs(world, old)] == [answer.job.id]


def test_a_job_that_failed_of_itself_is_left_to_its_requester(world: PostgresWorld) -> None:
    job = queued_job(world, **PINS)
    _keep(world, "plan", of_job(job))
    assert world.system.fail_job(job.id, FailReason.MODEL_FAILED, "It failed.")
    assert redrive(world) == ["nobody waits for it any more"]
    assert find_jobs(world, job) == []


def test_a_stitch_goes_on_over_the_finished_shards(world: PostgresWorld) -> None:
    old = stitching_job(world, **PINS)
    end(world, "stitch", of_job(old))
    assert redrive(world, "plan") == [], "another queue"
    assert len(redrive(world, "stitch")) == 1
    (retry,) = find_jobs(world, old)
    assert plan(world, retry.id, (10, 5)).state is JobState.STITCHING, "nothing is left to compute"


def test_a_slide_is_inspected_again(world: PostgresWorld) -> None:
    slide = uploaded_slide(world)
    body = {"v": 1, "slide_id": str(slide.id)}
    end(world, "inspect", body)
    assert redrive(world) == ["the slide is inspected again"]
    again = world.tenants.get_slide(world.actor, slide.id)
    assert (again.state, again.reason, again.sentence) == (SlideState.UPLOADED, None, None)
    assert topics(world, "inspect") == [body] * 3
    end(world, "inspect", body)
    world.tenants.delete_slide(world.actor, slide.id)
    assert redrive(world) == ["nobody waits for it any more"]


def test_a_job_over_a_deleted_slide_says_so_and_holds_up_no_other(world: PostgresWorld) -> None:
    gone, kept = queued_job(world, **PINS), queued_job(world, **PINS)
    for job in (gone, kept):
        end(world, "plan", of_job(job))
    arrive(world, "plan", "no JSON")
    world.tenants.delete_slide(world.actor, gone.slide_id)
    first, second, third = redrive(world)
    (retry,) = find_jobs(world, kept)
    assert (first, second) == ("The slide was deleted.", f"job {retry.id} computes the rest")
    assert third == "it cannot be read"
    assert find_jobs(world, gone) == []


def test_a_job_goes_on_with_its_own_tenants_model_where_another_tenant_has_the_same_one(world: PostgresWorld) -> None:
    for tenant in (world.other.tenant, world.actor.tenant):
        card = {**STAIN_DENSITY.as_json(), "name": "own"}
        own = ModelVersion(name="own", version="1", digest="e" * 64, card=card, package_uri=None, owner=tenant)
        world.system.register_model(own)
    pins = {"model": "own", "model_version": "1", "model_digest": "e" * 64}
    for actor in (world.actor, world.other):
        job = submit(world, new_job(ready_slide(world, actor=actor), **pins), actor=actor).job
        end(world, "plan", of_job(job))
        page = JobFilter(slide_id=job.slide_id)
        (answer,) = redrive(world)
        (retry,) = (one for one in world.tenants.list_jobs(actor, page, cursor=None, limit=10).items if one.retry_of)
        assert answer == f"job {retry.id} computes the rest"


def test_a_letter_that_breaks_redriving_stays_open_and_holds_up_no_other(world: PostgresWorld) -> None:
    broken, kept = queued_job(world, model="stain-density"), queued_job(world, **PINS)
    for job in (broken, kept):
        end(world, "plan", of_job(job))
    assert len(redrive(world)) == 1, "the card of the other's model is half a card"
    assert [letter.job_id for letter in list_open(world)] == [str(broken.id)]
    assert len(find_jobs(world, kept)) == 1


def test_a_letter_of_a_newer_release_is_sent_again(world: PostgresWorld) -> None:
    job = queued_job(world, **PINS)
    _keep(world, "plan", of_job(job))
    running = running_job(world, (10,), **PINS)
    _keep(world, "shards-high", of_job(running, shard=0))
    before = len(topics(world, "plan")), len(topics(world, "shards-high"))
    assert redrive(world) == ["its message was sent again"] * 2
    assert (len(topics(world, "plan")), len(topics(world, "shards-high"))) == (before[0] + 1, before[1] + 1)


def test_nothing_is_lost_and_the_api_reads_no_letter(world: PostgresWorld) -> None:
    arrive(world, "plan", "no JSON")
    redrive(world)
    (letter,) = world.administration.list_dead_letters(queue="plan", only_open=False, limit=10)
    assert (letter.outcome, letter.job_id, letter.redrive) == ("unreadable", None, "it cannot be read")
    assert world.system.measure_vitals(seconds=60, stalled_seconds=60).dead_letters == 0
    with pytest.raises(psycopg.errors.InsufficientPrivilege), world.api.begin_transaction(world.actor.tenant) as cursor:
        cursor.execute("SELECT * FROM dead_letters")


def test_open_letters_are_counted(world: PostgresWorld) -> None:
    end(world, "plan", of_job(queued_job(world, **PINS)))
    assert world.system.measure_vitals(seconds=60, stalled_seconds=60).dead_letters == 1


def _keep(world: PostgresWorld, queue: str, body: dict[str, Any]) -> None:
    assert arrive(world, queue, {**body, "v": 99}) is LetterOutcome.KEPT


def _identity(world: PostgresWorld, job: Job) -> str:
    """Return the identity that a retry of the job has."""

    slide = world.tenants.get_slide(world.actor, job.slide_id)
    return make_retry(
        job, slide, world.tenants.get_model(world.actor, job.model, job.model_version), make_traceparent()
    ).identity
