"""Vectors and objects of an attempt that lost its lease: whatever it writes, and however late, no result holds it."""

from __future__ import annotations

import gzip
import json
import threading
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from gpu_worker.checkpoints import Checkpoints
from gpu_worker.leases.heartbeat import LeasedShard
from inference.pipeline import run_shard
from tests.gpu_worker.installation import Installation, version_of
from tests.inference.objects.drawn_discs import FindsDiscs, drawn_card
from tests.wsi.results.features.test_features_h5 import DIMENSIONS, encoder
from wsi import keys
from wsi.errors import LeaseLost
from wsi.objects.found import FoundObjects
from wsi.planning.plan import Plan
from wsi.records.jobs import Job
from wsi.records.model_card import ModelCard
from wsi.records.notices import QueueMessage
from wsi.records.shards import Lease
from wsi.results.shard_result import ShardResult
from wsi.results.stitching import stitch_job


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path, width=800, height=600)


def attempt(installation: Installation, job: Job, plan: Plan, *, seconds: float) -> Checkpoints:
    """The next attempt of the job's only shard."""
    lease = installation.ledger.lease_shard(job.id, 0, owner="worker", seconds=seconds)
    assert isinstance(lease, Lease)
    message = QueueMessage(body={}, receipt="", receives=1, traceparent=None)
    leased = LeasedShard(lease=lease, queue="shards-normal", message=message)
    return Checkpoints(leased, plan, ledger=installation.ledger, objects=installation.objects)


def stitch_after_both(installation: Installation, card: ModelCard, right: ShardResult, wrong: ShardResult) -> Job:
    installation.ledger.register_model(version_of(card))
    job, plan = installation.planned_job(card=card, shard_tiles=10_000)
    assert right.plan_digest == plan.digest
    stale = attempt(installation, job, plan, seconds=-1.0)
    new = attempt(installation, job, plan, seconds=60.0)
    new.commit(right)
    for write in (stale.record, stale.commit):
        with pytest.raises(LeaseLost):
            write(wrong)
    assert stitch_job(job.id, ledger=installation.ledger, objects=installation.objects)
    return job


def read_file(installation: Installation, job: Job, name: str) -> bytes:
    return installation.objects.get(keys.of_result(installation.tenant, job.id, name))


def make_plan(installation: Installation, card: ModelCard) -> Plan:
    """The plan that every job of the card gets here."""
    installation.ledger.register_model(version_of(card))
    return installation.planned_job(card=card, shard_tiles=10_000)[1]


def test_vectors_are_those_of_the_attempt_that_holds_the_lease(installation: Installation, tmp_path: Path) -> None:
    card = encoder()
    plan = make_plan(installation, card)
    tiles = np.arange(len(plan.tiles), dtype=np.int32)
    vectors = np.random.default_rng(5).random((len(tiles), DIMENSIONS), dtype=np.float32)
    right = ShardResult(plan_digest=plan.digest, tiles=tiles, scores=vectors, unreadable={})
    job = stitch_after_both(installation, card, right, replace(right, scores=vectors * 0))
    (tmp_path / "features.h5").write_bytes(read_file(installation, job, "features.h5"))
    with h5py.File(tmp_path / "features.h5", "r") as file:
        np.testing.assert_array_equal(file["features"][:], vectors)


def test_objects_are_those_of_the_attempt_that_holds_the_lease(installation: Installation) -> None:
    card = drawn_card(352)
    plan = make_plan(installation, card)
    right = run_shard(plan, 0, installation.reader, FindsDiscs(plan.card), stop=threading.Event())
    assert right.objects is not None
    assert len(right.objects.table) > 5
    job = stitch_after_both(installation, card, right, replace(right, objects=FoundObjects.make_empty(1)))
    found = json.loads(gzip.decompress(read_file(installation, job, "objects.geojson.gz")))["features"]
    assert len(found) == len(right.objects.table)
