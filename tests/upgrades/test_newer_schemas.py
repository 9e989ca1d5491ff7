"""A process of the release before meets what a newer release wrote: it leaves it to a process that can read it."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from lambdas import stitch
from local.pollers import make_sqs_event
from tests.gpu_worker.installation import Installation
from wsi.errors import NewerSchema
from wsi.planning.plan import PLAN_SCHEMA
from wsi.records.notices import QueueMessage
from wsi.results.shard_result import RESULT_SCHEMA, ShardResult
from wsi.states import JobState, ShardState


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


def raise_plan_schema(plan: bytes) -> bytes:
    """The plan as a newer planner writes one that it cannot express in a schema of before."""
    return gzip.compress(json.dumps({**json.loads(gzip.decompress(plan)), "schema": PLAN_SCHEMA + 1}).encode())


def raise_result_schema(result: bytes) -> bytes:
    with np.load(io.BytesIO(result), allow_pickle=False) as arrays:
        head = {**json.loads(arrays["head"].tobytes()), "schema": RESULT_SCHEMA + 1}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **{**arrays, "head": np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)})
    return buffer.getvalue()


def count_failures(installation: Installation, job: UUID) -> list[tuple[ShardState, int]]:
    return [(shard.state, shard.failures) for shard in installation.ledger.books.shards[job]]


def test_an_older_worker_gives_a_newer_plan_back_and_a_newer_worker_computes_it(installation):
    job, plan = installation.planned_job(shard_tiles=20)
    key = str(job.plan_key)
    written = installation.objects.get(key)
    installation.objects.put(key, raise_plan_schema(written))

    assert installation.worker(idle_seconds=0.3, lease_seconds=3).run() == 0
    assert count_failures(installation, job.id) == [(ShardState.QUEUED, 0) for _ in plan.shard_sizes]
    released = installation.events(job.id, "shard_released")
    assert {event.detail["reason"] for event in released} == {"newer_schema"}
    leased = len(installation.events(job.id, "shard_leased"))
    assert leased <= 2, "the first, and the one that was taken ahead of its answer"
    assert installation.job(job.id).state is JobState.RUNNING

    installation.objects.put(key, written)  # what the newer worker reads
    installation.relay()
    assert installation.worker(idle_seconds=1.3).run() == 0
    assert installation.job(job.id).state is JobState.STITCHING
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)


def test_an_older_worker_computes_other_jobs_of_the_same_model_next_to_a_newer_plan(installation):
    newer, _ = installation.planned_job(shard_tiles=None)
    installation.objects.put(str(newer.plan_key), raise_plan_schema(installation.objects.get(str(newer.plan_key))))
    older, plan = installation.planned_job(shard_tiles=None)
    assert installation.worker(idle_seconds=0.3).run() == 0
    assert installation.job(newer.id).state is JobState.RUNNING
    assert installation.job(older.id).tiles_inferred == len(plan.tiles)


def test_an_older_worker_begins_anew_where_a_newer_one_wrote_the_checkpoint(installation):
    job, plan = installation.planned_job(shard_tiles=None)
    lease = installation.ledger.lease_shard(job.id, 0, owner="newer", seconds=60)
    result = ShardResult(
        plan_digest=plan.digest,
        tiles=plan.shard_tiles(0)[:4],
        scores=np.zeros((4, len(plan.card.columns)), dtype=np.float32),
        unreadable={},
    )
    installation.objects.put("checkpoint", raise_result_schema(result.to_bytes()))
    assert installation.ledger.record_checkpoint(lease, key="checkpoint", done=4, unreadable=0, tiles_per_second=None)
    installation.ledger.release_shard(lease, reason="the worker is leaving", failed=False)
    assert installation.worker(idle_seconds=0.3).run() == 0
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)
    numbers, scores = installation.table(job.id)
    assert numbers == list(range(len(plan.tiles)))
    assert scores.count(b"\0") < len(scores) / 2, "no row of the checkpoint's zeros is among them"


@pytest.mark.parametrize("receives", [1, 5])
def test_an_older_stitch_leaves_a_newer_plan_to_a_newer_stitch_however_often_it_comes(installation, receives):
    job, _ = installation.planned_job(shard_tiles=None)
    assert installation.worker(idle_seconds=0.01).run() == 0
    key = str(job.plan_key)
    written = installation.objects.get(key)
    installation.objects.put(key, raise_plan_schema(written))
    handle = stitch.make_handler(ledger=installation.ledger, objects=installation.objects, queues=installation.queues)

    delivered_again = ["m0"] if receives == 1 else []
    assert send(handle, job.id, receives) == delivered_again, "at last the sweep sends it again: it is no dead letter"
    assert installation.job(job.id).state is JobState.STITCHING
    installation.objects.put(key, written)
    assert send(handle, job.id, 1) == []
    assert installation.job(job.id).state is JobState.COMPLETED


def test_a_newer_shard_result_is_named_as_such():
    result = ShardResult(
        plan_digest="d", tiles=np.arange(2, dtype=np.int32), scores=np.ones((2, 1), dtype=np.float32), unreadable={}
    )
    with pytest.raises(NewerSchema, match="newer than this release's"):
        ShardResult.from_bytes(raise_result_schema(result.to_bytes()))


def send(handle: Any, job: UUID, receives: int) -> list[str]:
    """The ids of failed messages."""
    message = QueueMessage(body={"v": 1, "job_id": str(job)}, receipt="r", receives=receives, traceparent=None)
    answer = handle(make_sqs_event("stitch", {"m0": message}), None)
    return [item["itemIdentifier"] for item in answer["batchItemFailures"]]
