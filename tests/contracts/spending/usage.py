"""The ledger contract: usage by day, model and requester, and budgets with their notices."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from tests.contracts.ledger_world import (
    MODEL,
    LedgerWorld,
    commit,
    lease,
    new_job,
    plan,
    queued_job,
    ready_slide,
    running_job,
    submit,
    topics,
)
from wsi.errors import TooManyRequests
from wsi.records.identity import Actor
from wsi.records.operations.usage import UsageBy, UsageLine
from wsi.records.quotas import Quotas

#: s in which a worker costs DOLLARS. Short, so that no test passes the end of a month.
UNIT = 20.0
DOLLARS = 2.0
PRICE = DOLLARS * 3600 / UNIT  #: of a GPU hour
ADMIN = "admin@hospital.example"


def today() -> date:
    return datetime.now(UTC).date()


def read(world: LedgerWorld, by: UsageBy, *, actor: Actor | None = None, **asked: Any) -> tuple[UsageLine, ...]:
    days = {"first": today() - timedelta(days=2), "last": today() + timedelta(days=2), **asked}
    return world.tenants.list_usage(actor or world.actor, by, **days)


def compute_shard(
    world: LedgerWorld, tiles: int, seconds: float, *, actor: Actor | None = None, **changes: Any
) -> None:
    """Have a worker finish a job's only shard within so many seconds."""
    by = actor or world.actor
    job = submit(world, new_job(ready_slide(world, actor=by), **changes), reuse=False, actor=by).job
    assert world.system.begin_planning(job.id)
    assert world.system.commit_plan(job.id, plan_key="k", plan_digest="d", shard_tiles=(tiles,))
    held = lease(world, job, 0, seconds=seconds + 60)
    world.pass_time(seconds)
    assert commit(world, held)


def ask(world: LedgerWorld, *, actor: Actor | None = None) -> bool:
    """Return whether the tenant may have another job."""
    by = actor or world.actor
    job = new_job(ready_slide(world, actor=by))
    asked: dict[str, Any] = {"idempotency": None, "reuse_finished": True, "share_live": True}
    return bool(world.tenants.submit_job(by, job, **asked, dollars_per_gpu_hour=PRICE).job)


class UsageContract:
    def test_a_shard_is_counted_once_by_day_model_and_requester(self, world: LedgerWorld) -> None:
        job = running_job(world, (10, 5))
        held = lease(world, job, 0)
        world.pass_time(30)
        assert commit(world, held)
        assert not commit(world, held), "the same message again"
        assert world.system.release_shard(lease(world, job, 1), reason="the worker is leaving", failed=False)
        again = lease(world, job, 1)
        world.pass_time(20)
        assert commit(world, again)
        (by_day,), (by_model,), (by_person,) = (read(world, by) for by in UsageBy)
        assert (by_model.model, by_model.model_version, by_model.requester) == (MODEL.name, MODEL.version, None)
        assert (by_person.requester, by_person.model) == (world.actor.subject, None)
        assert by_day.day is not None
        for line in (by_day, by_model, by_person):
            assert (line.tiles, line.worker_seconds) == (15, pytest.approx(50, abs=1))

    def test_a_retry_counts_no_shard_that_it_takes_over(self, world: LedgerWorld) -> None:
        old = running_job(world, (10, 5))
        assert commit(world, lease(world, old, 0))
        world.tenants.cancel_job(world.actor, old.id)
        new = plan(world, queued_job(world, slide=_slide(world, old), retry_of=old.id).id, (10, 5))
        assert commit(world, lease(world, new, 1))
        assert [line.tiles for line in read(world, UsageBy.MODEL)] == [15]

    def test_lines_are_sums_with_the_most_worker_time_first(self, world: LedgerWorld) -> None:
        other = replace(MODEL, version="2", digest="e" * 64)
        world.system.register_model(other)
        compute_shard(world, 10, 5)
        compute_shard(world, 20, 60, model_version="2", model_digest=other.digest)
        compute_shard(world, 30, 5)
        assert [(line.model_version, line.tiles) for line in read(world, UsageBy.MODEL)] == [("2", 20), ("1", 40)]
        assert [line.tiles for line in read(world, UsageBy.PERSON)] == [60]

    def test_tenants_and_people_see_their_own(self, world: LedgerWorld) -> None:
        colleague = replace(world.actor, subject="user:colleague")
        compute_shard(world, 10, 5)
        compute_shard(world, 20, 5, actor=colleague)
        compute_shard(world, 40, 5, actor=world.other)
        assert sum(line.tiles for line in read(world, UsageBy.DAY)) == 30
        assert {line.requester: line.tiles for line in read(world, UsageBy.PERSON)} == {
            world.actor.subject: 10,
            colleague.subject: 20,
        }
        for by in UsageBy:
            assert [line.tiles for line in read(world, by, requester=colleague.subject)] == [20]
            assert sum(line.tiles for line in read(world, by, actor=world.other)) == 40

    def test_days_outside_are_left_out(self, world: LedgerWorld) -> None:
        compute_shard(world, 10, 5)
        before = today() - timedelta(days=1)
        assert read(world, UsageBy.DAY, first=before - timedelta(days=3), last=before) == ()
        assert read(world, UsageBy.MODEL, first=before - timedelta(days=3), last=before) == ()
        (line,) = read(world, UsageBy.MODEL, first=before, last=today() + timedelta(days=1))
        assert line.tiles == 10

    def test_there_is_no_budget_until_one_is_set(self, world: LedgerWorld) -> None:
        assert world.tenants.measure_budget(world.actor) is None
        world.set_quotas(None, Quotas(dollars_a_month=100.0))
        compute_shard(world, 10, UNIT)
        budget = world.tenants.measure_budget(world.actor)
        assert budget is not None
        assert (budget.dollars_a_month, budget.stops) == (100.0, False)
        assert budget.worker_seconds == pytest.approx(UNIT, abs=1)
        assert budget.month.day == 1

    def test_a_used_budget_refuses_new_jobs_only_where_it_is_to(self, world: LedgerWorld) -> None:
        world.set_quotas(world.actor, Quotas(dollars_a_month=DOLLARS, stops_at_budget=False))
        compute_shard(world, 10, UNIT + 1)
        assert ask(world)
        world.set_quotas(world.actor, Quotas(dollars_a_month=DOLLARS, stops_at_budget=True))
        with pytest.raises(TooManyRequests, match=r"budget of 2.00 dollars a month is used: .* took 2") as refused:
            ask(world)
        assert refused.value.retry_seconds is not None
        assert 0 < refused.value.retry_seconds <= 31 * 86_400
        assert ask(world, actor=world.other)
        world.set_quotas(world.actor, Quotas(dollars_a_month=10 * DOLLARS, stops_at_budget=True))
        assert ask(world)

    def test_a_used_budget_refuses_no_answer_that_costs_nothing(self, world: LedgerWorld) -> None:
        slide = ready_slide(world)
        submit(world, new_job(slide))
        world.set_quotas(world.actor, Quotas(dollars_a_month=0.0, stops_at_budget=True))
        asked: dict[str, Any] = {"idempotency": None, "reuse_finished": True, "share_live": True}
        shared = world.tenants.submit_job(world.actor, new_job(slide), **asked, dollars_per_gpu_hour=PRICE)
        assert shared.shared

    def test_a_new_month_begins_with_an_unused_budget(self, world: LedgerWorld) -> None:
        world.set_quotas(world.actor, Quotas(dollars_a_month=DOLLARS, stops_at_budget=True))
        compute_shard(world, 10, UNIT + 1)
        world.pass_time(32 * 86_400)
        assert ask(world)

    def test_admins_are_told_once_a_month_at_80_and_at_100_percent(self, world: LedgerWorld) -> None:
        world.add_admin(world.actor, ADMIN)
        world.set_quotas(world.actor, Quotas(dollars_a_month=10 * DOLLARS))
        compute_shard(world, 10, 7.9 * UNIT)
        assert world.system.warn_of_budgets(dollars_per_gpu_hour=PRICE) == 0
        compute_shard(world, 10, 0.2 * UNIT)
        assert world.system.warn_of_budgets(dollars_per_gpu_hour=PRICE) == 1
        assert topics(world, "notify") == [{"v": 1, "budget_of": str(world.actor.tenant)}]
        (notice,) = world.system.claim_budget_notices(world.actor.tenant, seconds=60)
        assert (notice.percent, notice.target, notice.attempt) == (80, ADMIN, 1)
        assert world.system.claim_budget_notices(world.actor.tenant, seconds=60) == (), "another has it"
        world.system.record_budget_notice(notice, delivered=True, error=None, retry_seconds=None)
        compute_shard(world, 10, 0.5 * UNIT)
        assert world.system.warn_of_budgets(dollars_per_gpu_hour=PRICE) == 0, "told already"
        compute_shard(world, 10, 2 * UNIT)
        assert world.system.warn_of_budgets(dollars_per_gpu_hour=PRICE) == 1
        (last,) = world.system.claim_budget_notices(world.actor.tenant, seconds=60)
        assert last.percent == 100
        world.system.record_budget_notice(last, delivered=True, error=None, retry_seconds=None)
        assert world.system.warn_of_budgets(dollars_per_gpu_hour=PRICE) == 0
        assert world.system.claim_budget_notices(world.other.tenant, seconds=60) == ()

    def test_who_passes_both_at_once_is_told_of_the_larger_alone(self, world: LedgerWorld) -> None:
        world.add_admin(world.actor, ADMIN)
        world.set_quotas(world.actor, Quotas(dollars_a_month=DOLLARS))
        compute_shard(world, 10, 2 * UNIT)
        for _ in range(2):
            world.system.warn_of_budgets(dollars_per_gpu_hour=PRICE)
        notices = world.system.claim_budget_notices(world.actor.tenant, seconds=60)
        assert [notice.percent for notice in notices] == [100]

    def test_a_mail_that_failed_is_due_again(self, world: LedgerWorld) -> None:
        world.add_admin(world.actor, ADMIN)
        world.set_quotas(world.actor, Quotas(dollars_a_month=DOLLARS))
        compute_shard(world, 10, 2 * UNIT)
        world.system.warn_of_budgets(dollars_per_gpu_hour=PRICE)
        (first,) = world.system.claim_budget_notices(world.actor.tenant, seconds=60)
        world.system.record_budget_notice(first, delivered=False, error="It was down.", retry_seconds=100)
        assert world.system.claim_budget_notices(world.actor.tenant, seconds=60) == ()
        world.pass_time(101)
        assert world.system.warn_of_budgets(dollars_per_gpu_hour=PRICE) == 1
        (second,) = world.system.claim_budget_notices(world.actor.tenant, seconds=60)
        assert second.attempt == 2
        world.system.record_budget_notice(second, delivered=False, error="Refused.", retry_seconds=None)
        world.pass_time(86_400)
        assert world.system.claim_budget_notices(world.actor.tenant, seconds=60) == (), "given up"


def _slide(world: LedgerWorld, job: Any):
    return world.tenants.get_slide(world.actor, job.slide_id)
