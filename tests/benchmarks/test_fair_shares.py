"""Tenants with unequal backlogs get equal shares: the benchmark's measurement, on fewer shards."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.postgres.connections import Connections
from adapters.postgres.owner.seeding import SeedTenant
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.postgres.tenant_ledger import PostgresTenantLedger
from benchmarks.fair_shares import MODEL, ShareReport, measure_shares, split_backlog
from tests.fakes.ledger import MemoryLedger
from tests.postgres import Database, database, postgres

__all__ = ["database", "postgres"]

MOST_DEVIATION = 0.15


def test_backlogs_are_one_to_ten_units():
    backlogs = split_backlog(5_000, 20)
    assert (sum(backlogs), len(backlogs)) == (5_000, 20)
    assert backlogs[-1] == pytest.approx(10 * backlogs[0], rel=0.02)


def test_a_share_is_what_is_left_of_what_others_do_not_need():
    report = ShareReport(asked=[10, 100, 100], done=[10, 50, 40], most_messages=0)
    assert report.share == 45
    assert report.deviations == pytest.approx([5 / 45, -5 / 45])


@pytest.mark.exhaustive
def test_half_way_each_tenant_that_waits_has_had_its_share(database: Database) -> None:
    backlogs = split_backlog(800, 20)
    names = [f"tenant-{place:02d}" for place in range(20)]
    ids = database.seed(tenants=[SeedTenant(name=name) for name in names], models=[MODEL])
    api, worker = Connections(database.api_dsn), Connections(database.system_dsn)
    try:
        ledgers = (PostgresTenantLedger(api), PostgresSystemLedger(worker))
        report = measure_shares(*ledgers, [ids[name] for name in names], backlogs, workers=4)
    finally:
        api.close()
        worker.close()
    assert len(report.deviations) > 10
    assert report.worst <= MOST_DEVIATION, list(zip(report.asked, report.done, strict=True))
    assert report.most_messages <= 20


def measure_in_memory(backlogs: list[int], workers: int, **arm: bool) -> ShareReport:
    ledger = MemoryLedger(lambda: datetime.now(UTC))
    ledger.register_model(MODEL)
    return measure_shares(ledger, ledger, [uuid4() for _ in backlogs], backlogs, workers=workers, **arm)


@given(backlogs=st.lists(st.integers(1, 40), min_size=2, max_size=6), workers=st.integers(1, 5))
@settings(max_examples=40)
def test_whatever_the_backlogs_no_tenant_that_waits_is_behind_by_more_than_what_is_in_flight(backlogs, workers):
    report = measure_in_memory(backlogs, workers)
    served = [done for asked, done in zip(report.asked, report.done, strict=True) if done < asked]
    most = 3 * workers + len(backlogs)
    assert max(served) - min(served) <= most
    assert report.most_messages <= most


def test_without_lines_whoever_came_first_has_all():
    """What the report of the issue saw, in the order in which plans were made."""
    report = measure_in_memory([10, 20, 40], 2, has_lines=False)
    assert report.done == [0, 0, 35]
    assert min(report.deviations) == -1.0, "two had nothing of their share"
