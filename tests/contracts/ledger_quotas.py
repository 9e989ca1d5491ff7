"""The ledger contract: quotas of tenants."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from tests.contracts.ledger_world import (
    LedgerWorld,
    commit,
    files,
    lease,
    new_job,
    plan,
    ready_slide,
    submit,
    uploading_slide,
)
from wsi.errors import Forbidden, TooManyRequests
from wsi.quota_rules import JOBS_RETRY_SECONDS
from wsi.records.identity import Actor
from wsi.records.jobs import Job, NewJob, Priority
from wsi.records.quotas import Quotas
from wsi.sources.source import Source

DAY = 86_400.0


def ask(world: LedgerWorld, tiles: int = 0, *, actor: Actor | None = None, priority: Priority = Priority.LOW) -> Job:
    slide = ready_slide(world, actor=actor)
    asked = new_job(slide, tiles_expected=tiles, priority=priority)
    return submit(world, asked, reuse=False, actor=actor).job


class QuotasContract:
    def test_without_quotas_nothing_is_refused(self, world: LedgerWorld) -> None:
        for _ in range(3):
            ask(world, 10**9, priority=Priority.HIGH)
            uploading_slide(world)

    def test_a_tenant_asks_for_no_more_urgent_priority_than_it_may(self, world: LedgerWorld) -> None:
        world.set_quotas(world.actor, Quotas(top_priority=Priority.NORMAL))
        with pytest.raises(Forbidden, match="may not ask for priority high: ask for normal"):
            ask(world, priority=Priority.HIGH)
        ask(world, priority=Priority.NORMAL)
        ask(world, actor=world.other, priority=Priority.HIGH)

    def test_no_more_jobs_wait_than_allowed_until_one_begins(self, world: LedgerWorld) -> None:
        world.set_quotas(world.actor, Quotas(jobs_waiting=2))
        first, _ = ask(world), ask(world)
        with pytest.raises(TooManyRequests, match="limit of 2 waiting jobs") as refused:
            ask(world)
        assert refused.value.retry_seconds == JOBS_RETRY_SECONDS
        lease(world, plan(world, first.id, (10,)), 0)
        second = ask(world)
        world.tenants.cancel_job(world.actor, second.id)
        ask(world)
        ask(world, actor=world.other)

    def test_a_refused_job_leaves_nothing_behind(self, world: LedgerWorld) -> None:
        world.set_quotas(world.actor, Quotas(jobs_waiting=0))
        job = new_job(ready_slide(world))
        with pytest.raises(TooManyRequests):
            submit(world, job, key="again")
        world.set_quotas(world.actor, Quotas())
        assert not submit(world, job, key="again").replayed

    def test_a_finished_equal_job_answers_beyond_every_quota(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        job = plan(world, submit(world, new_job(slide)).job.id, (4,))
        assert commit(world, lease(world, job, 0))
        assert world.system.commit_results(job.id, ())
        world.set_quotas(world.actor, Quotas(jobs_waiting=0, tiles_a_day=0))
        assert submit(world, new_job(slide)).reused

    def test_the_days_tiles_are_those_expected_then_planned_then_computed(self, world: LedgerWorld) -> None:
        world.set_quotas(world.actor, Quotas(tiles_a_day=100))
        job = ask(world, 60)
        with pytest.raises(TooManyRequests, match=r"100 tiles a day is reached: today's jobs have 60, .* about 41"):
            ask(world, 41)
        plan(world, job.id, (30, 20))
        ask(world, 50)
        with pytest.raises(TooManyRequests, match="today's jobs have 100"):
            ask(world, 1)
        assert commit(world, lease(world, job, 0))
        world.tenants.cancel_job(world.actor, job.id)
        ask(world, 20)
        ask(world, 1_000, actor=world.other)

    def test_the_days_tiles_are_free_again_at_midnight(self, world: LedgerWorld) -> None:
        world.set_quotas(world.actor, Quotas(tiles_a_day=10))
        ask(world, 10)
        with pytest.raises(TooManyRequests) as refused:
            ask(world, 1)
        now = datetime.now(UTC)
        left = DAY - (now - now.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()
        assert refused.value.retry_seconds == pytest.approx(left, abs=5)
        world.pass_time(DAY)
        ask(world, 10)

    def test_no_more_uploads_are_open_than_allowed(self, world: LedgerWorld) -> None:
        world.set_quotas(world.actor, Quotas(uploads_open=2))
        first, _ = uploading_slide(world), uploading_slide(world)
        with pytest.raises(TooManyRequests, match="limit of 2 open uploads"):
            uploading_slide(world)
        etags = {first.files[0].uri: "etag"}
        world.tenants.complete_upload(world.actor, first.id, digest="d", etags=etags)
        uploading_slide(world)
        uploading_slide(world, actor=world.other)

    def test_uploads_store_no_more_bytes_than_allowed(self, world: LedgerWorld) -> None:
        world.set_quotas(world.actor, Quotas(bytes_stored=3_500))
        first, _ = (upload(world, count=1) for _ in range(2))
        with pytest.raises(TooManyRequests, match=r"limit of 3,500 stored bytes .* take 2,000, .* would add 2,001"):
            upload(world, count=2)
        world.tenants.delete_slide(world.actor, first)
        upload(world, count=2)

    def test_slides_in_buckets_of_others_take_no_bytes(self, world: LedgerWorld) -> None:
        world.set_quotas(world.actor, Quotas(bytes_stored=1_000))
        world.set_sources(world.actor, Source("slides"))
        elsewhere = files(uuid4())
        world.tenants.register_slide(world.actor, uuid4(), "name", elsewhere, mpp=None, digest="d")
        upload(world, count=1)

    def test_a_tenants_own_value_wins_over_that_of_all(self, world: LedgerWorld) -> None:
        world.set_quotas(None, Quotas(jobs_waiting=0, uploads_open=0))
        world.set_quotas(world.actor, Quotas(jobs_waiting=1))
        ask_for = ready_by_reference(world)
        assert submit(world, ask_for).job
        with pytest.raises(TooManyRequests, match="limit of 0 open uploads"):
            uploading_slide(world)
        with pytest.raises(TooManyRequests, match="limit of 0 open uploads"):
            uploading_slide(world, actor=world.other)

    def test_requests_at_once_stay_within_each_quota(self, world: LedgerWorld) -> None:
        jobs = [new_job(ready_slide(world), tiles_expected=10) for _ in range(12)]
        world.set_quotas(world.actor, Quotas(jobs_waiting=7, tiles_a_day=50, uploads_open=4))

        def try_one(job: NewJob) -> bool:
            try:
                submit(world, job, reuse=False)
            except TooManyRequests:
                return False
            return True

        def try_upload(_: int) -> bool:
            try:
                uploading_slide(world)
            except TooManyRequests:
                return False
            return True

        with ThreadPoolExecutor(12) as pool:
            assert sum(pool.map(try_one, jobs)) == 5, "50 tiles"
            assert sum(pool.map(try_upload, range(12))) == 4


def upload(world: LedgerWorld, *, count: int) -> UUID:
    slide_id = uuid4()
    world.tenants.create_slide(world.actor, slide_id, "name", files(slide_id, count), mpp=None)
    return slide_id


def ready_by_reference(world: LedgerWorld) -> NewJob:
    world.set_sources(world.actor, Source("slides"))
    slide = world.tenants.register_slide(world.actor, uuid4(), "name", files(uuid4()), mpp=None, digest="d")
    assert world.system.accept_slide(slide.id, {"levels": []}, "thumbnail", version=slide.version)
    return new_job(world.tenants.get_slide(world.actor, slide.id))
