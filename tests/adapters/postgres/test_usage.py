"""Usage that only a real database can get wrong: commits at once, and what the release before counted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from tests.adapters.postgres.world import PostgresWorld
from tests.contracts.ledger_world import commit, lease, running_job
from wsi.records.operations.usage import UsageBy


def test_shards_that_end_at_once_are_all_counted(world: PostgresWorld) -> None:
    jobs = [running_job(world, [2] * 8) for _ in range(2)]
    held = [lease(world, job, index) for job in jobs for index in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda one: commit(world, one), held))
    today = datetime.now(UTC).date()
    for by in UsageBy:
        assert [line.tiles for line in world.tenants.list_usage(world.actor, by, first=today, last=today)] == [32]


def test_what_the_release_before_counted_is_a_line_without_a_key(world: PostgresWorld) -> None:
    assert commit(world, lease(world, running_job(world, [7]), 0))
    today = datetime.now(UTC).date()
    with world.worker.begin_transaction() as cursor:
        cursor.execute("UPDATE usage SET tiles = tiles + 100, worker_seconds = worker_seconds + 50")
    (by_day,) = world.tenants.list_usage(world.actor, UsageBy.DAY, first=today, last=today)
    assert by_day.tiles == 107
    for by in (UsageBy.MODEL, UsageBy.PERSON):
        named, rest = world.tenants.list_usage(world.actor, by, first=today, last=today)
        assert (named.tiles, rest.tiles, rest.worker_seconds) == (7, 100, pytest.approx(50))
        assert (rest.model, rest.requester, rest.day) == (None, None, None)
    own = world.tenants.list_usage(world.actor, UsageBy.PERSON, first=today, last=today, requester=world.actor.subject)
    assert [line.tiles for line in own] == [7]
