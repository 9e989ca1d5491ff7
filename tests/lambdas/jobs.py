"""Jobs as callers of the API make them, and as workers finish them."""

from __future__ import annotations

from uuid import UUID

from tests.installation import ANALYST
from wsi import keys
from wsi.records.results import ResultFile
from wsi.records.shards import ShardCount


def submit(caller, slide, *, key=None, **body):
    headers = {"Idempotency-Key": key} if key else {}
    return caller("POST", "/jobs", {"slide_id": str(slide), "model": "stain-density", **body}, headers=headers)


def plan(installation, job, sizes=(10, 20, 30)):
    job = UUID(job)
    assert installation.ledger.begin_planning(job)
    assert installation.ledger.commit_plan(job, plan_key="plan", plan_digest="d" * 64, shard_tiles=sizes)


def finish_shard(installation, job, index, tiles, seconds=0):
    lease = installation.ledger.lease_shard(UUID(job), index, owner="worker", seconds=60)
    installation.clock.pass_seconds(seconds)
    key = keys.of_shard_result(ANALYST.tenant, UUID(job), index, lease.attempt)
    count = ShardCount(inferred=tiles, unreadable=0)
    assert installation.ledger.commit_shard(lease, result_key=key, count=count, tiles_per_second=10.0)


def finish(installation, job):
    plan(installation, job, (10,))
    finish_shard(installation, job, 0, 10)
    key = keys.of_result(ANALYST.tenant, UUID(job), "tiles.csv")
    file = ResultFile(name="tiles.csv", key=key, size=3, sha256="0" * 64, media_type="text/csv")
    assert installation.ledger.commit_results(UUID(job), [file])
