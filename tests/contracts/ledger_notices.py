"""The ledger contract: who is told of a job's end, how often, and signed with what."""

from __future__ import annotations

import pytest

from tests.contracts.ledger_world import LedgerWorld, completed_job, new_job, queued_job, ready_slide, submit, topics
from wsi.errors import FailReason, NotFound
from wsi.records.deliveries import Delivery, NoticeChannel
from wsi.records.jobs import Job

WEBHOOK = "https://lab.example/hook"
EMAIL = "pathologist@lab.example"


def failed_job(world: LedgerWorld, **asked: str) -> Job:
    job = queued_job(world, **asked)
    assert world.system.fail_job(job.id, FailReason.SLIDE_UNREADABLE, "It cannot be read.")
    return world.tenants.get_job(world.actor, job.id)


def claim(world: LedgerWorld, job: Job) -> tuple[Delivery, ...]:
    brief = world.system.claim_deliveries(job.id, seconds=60)
    assert brief is not None
    assert brief.job == world.tenants.get_job(world.actor, job.id)
    return brief.deliveries


def record(world: LedgerWorld, delivery: Delivery, *, retry_seconds: float | None = None, delivered: bool = False):
    world.system.record_delivery(
        delivery,
        delivered=delivered,
        status=204 if delivered else 500,
        error=None if delivered else "The receiver answered 500.",
        retry_seconds=retry_seconds,
    )


class NoticesContract:
    def test_the_end_of_a_job_that_asks_for_notices_is_told_to_the_queue(self, world: LedgerWorld) -> None:
        job = completed_job(world, notify_email=EMAIL, notify_webhook=WEBHOOK)
        assert (job.notify_email, job.notify_webhook) == (EMAIL, WEBHOOK)
        assert [body["job_id"] for body in topics(world, "notify")] == [str(job.id)]

    def test_a_job_that_asks_for_nothing_tells_nobody(self, world: LedgerWorld) -> None:
        job = completed_job(world)
        assert topics(world, "notify") == []
        assert claim(world, job) == ()

    def test_nothing_is_due_before_the_end(self, world: LedgerWorld) -> None:
        job = queued_job(world, notify_webhook=WEBHOOK)
        assert claim(world, job) == ()
        assert topics(world, "notify") == []

    def test_a_cancelled_job_calls_the_webhook_and_sends_no_mail(self, world: LedgerWorld) -> None:
        job = queued_job(world, notify_email=EMAIL, notify_webhook=WEBHOOK)
        world.tenants.cancel_job(world.actor, job.id)
        assert [delivery.channel for delivery in claim(world, job)] == [NoticeChannel.WEBHOOK]

    def test_who_claims_first_sends(self, world: LedgerWorld) -> None:
        job = failed_job(world, notify_email=EMAIL, notify_webhook=WEBHOOK)
        claimed = claim(world, job)
        assert {(one.channel, one.target, one.attempt) for one in claimed} == {
            (NoticeChannel.EMAIL, EMAIL, 1),
            (NoticeChannel.WEBHOOK, WEBHOOK, 1),
        }
        assert claim(world, job) == ()

    def test_what_was_delivered_is_not_due_again(self, world: LedgerWorld) -> None:
        job = failed_job(world, notify_webhook=WEBHOOK)
        (claimed,) = claim(world, job)
        record(world, claimed, delivered=True)
        world.pass_time(100_000)
        assert claim(world, job) == ()
        (kept,) = world.tenants.list_deliveries(world.actor, job.id)
        assert (kept.status, kept.error, kept.due_at) == (204, None, None)
        assert kept.delivered_at is not None

    def test_a_failed_try_comes_again_when_it_is_due(self, world: LedgerWorld) -> None:
        job = failed_job(world, notify_webhook=WEBHOOK)
        (first,) = claim(world, job)
        record(world, first, retry_seconds=600)
        assert claim(world, job) == ()
        world.pass_time(601)
        (second,) = claim(world, job)
        assert (second.id, second.attempt, second.error) == (first.id, 2, "The receiver answered 500.")

    def test_a_try_without_another_one_is_given_up(self, world: LedgerWorld) -> None:
        job = failed_job(world, notify_webhook=WEBHOOK)
        (claimed,) = claim(world, job)
        record(world, claimed)
        world.pass_time(100_000)
        assert claim(world, job) == ()
        (kept,) = world.tenants.list_deliveries(world.actor, job.id)
        assert (kept.delivered_at, kept.due_at, kept.error) == (None, None, "The receiver answered 500.")

    def test_a_sender_that_died_is_followed_by_another_whose_word_counts(self, world: LedgerWorld) -> None:
        job = failed_job(world, notify_webhook=WEBHOOK)
        (dead,) = claim(world, job)
        world.pass_time(61)
        (alive,) = claim(world, job)
        record(world, dead)
        record(world, alive, delivered=True)
        (kept,) = world.tenants.list_deliveries(world.actor, job.id)
        assert kept.delivered_at is not None

    def test_the_sweep_tells_the_queue_of_what_is_due_and_not_each_minute(self, world: LedgerWorld) -> None:
        job = failed_job(world, notify_webhook=WEBHOOK)
        (claimed,) = claim(world, job)
        record(world, claimed, retry_seconds=600)
        before = len(topics(world, "notify"))

        def sweep() -> int:
            return world.system.sweep(upload_days=3, stuck_seconds=900, give_up_seconds=500_000).notices_woken

        assert sweep() == 0
        world.pass_time(601)
        assert [sweep(), sweep()] == [1, 0]
        assert len(topics(world, "notify")) == before + 1
        world.pass_time(301)
        assert sweep() == 1

    def test_webhooks_are_signed_with_the_tenants_secret_and_for_a_day_with_the_last(self, world: LedgerWorld) -> None:
        first = world.tenants.get_webhook_secret(world.actor)
        assert world.tenants.get_webhook_secret(world.actor) == first
        assert world.tenants.get_webhook_secret(world.other) != first
        second = world.tenants.get_webhook_secret(world.actor, rotate=True)
        assert second != first

        def secrets() -> tuple[str, ...]:
            brief = world.system.claim_deliveries(failed_job(world, notify_webhook=WEBHOOK).id, seconds=60)
            assert brief is not None
            return brief.secrets

        assert secrets() == (second, first)
        world.pass_time(86_401)
        assert secrets() == (second,)

    def test_a_secret_is_made_for_who_never_asked_for_one(self, world: LedgerWorld) -> None:
        brief = world.system.claim_deliveries(failed_job(world, notify_webhook=WEBHOOK).id, seconds=60)
        assert brief is not None
        assert brief.secrets == (world.tenants.get_webhook_secret(world.actor),)

    def test_another_tenant_sees_no_delivery(self, world: LedgerWorld) -> None:
        job = failed_job(world, notify_webhook=WEBHOOK)
        claim(world, job)
        with pytest.raises(NotFound):
            world.tenants.list_deliveries(world.other, job.id)

    def test_an_equal_finished_job_tells_nobody_again(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        completed_job(world, slide=slide, notify_webhook=WEBHOOK)
        told = len(topics(world, "notify"))
        again = submit(world, new_job(slide, notify_webhook=WEBHOOK))
        assert again.reused
        assert len(topics(world, "notify")) == told
