from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
import torch

from gpu_worker.drain import Drain
from inference.models.package import read_package
from tests.gpu_worker.installation import Drops, Installation, now, version_of
from tests.inference.cases import direct
from tests.inference.packages import write_package
from tests.slides.scn import write_scn
from wsi import keys
from wsi.errors import SourceUnavailable
from wsi.ledger_rules import LEASE_EXPIRED
from wsi.records.jobs import Priority
from wsi.slide.opening import open_local_source, open_slide
from wsi.states import JobState, ShardState


@pytest.fixture
def installation(tmp_path) -> Installation:
    return Installation(tmp_path)


def shards_of(installation, job):
    return installation.ledger.books.shards[job.id]


def test_a_job_is_computed_to_the_last_tile_and_goes_to_stitching(installation):
    job, plan = installation.planned_job()
    installation.worker().run()
    done = installation.job(job.id)
    assert done.state is JobState.STITCHING
    assert (done.tiles_inferred, done.tiles_unreadable) == (len(plan.tiles), 0)
    tiles, scores = installation.table(job.id)
    assert tiles == list(range(len(plan.tiles)))
    assert scores == direct(plan, installation.reader).tobytes()
    assert installation.queues.depth("shards-normal") == 0
    assert done.tiles_per_second
    took = [result.measured for result in installation.results(job.id)]
    # The next shard's bytes come while the last one is computed, and count for that.
    assert all(one.requests >= 0 and one.seconds > 0 and one.hardware for one in took)
    assert sum(one.requests for one in took) > 0
    assert sum(one.bytes for one in took) > 0


def test_several_workers_give_the_bytes_of_one(tmp_path, installation):
    job, _ = installation.planned_job(shard_tiles=5)
    installation.worker().run()
    other, _ = installation.planned_job(shard_tiles=3)
    workers = [threading.Thread(target=installation.worker().run) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert installation.table(other.id) == installation.table(job.id)


def test_every_message_twice_changes_nothing(installation):
    job, plan = installation.planned_job(shard_tiles=10)
    for index in range(len(plan.shard_sizes)):
        body = {"v": 1, "job_id": str(job.id), "shard": index}
        installation.queues.send("shards-normal", body, group="t", traceparent="")
    # A message of a shard that runs comes back after a third of the lease.
    installation.worker(lease_seconds=1.5, idle_seconds=1.3).run()
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)
    assert len(installation.events(job.id, "shard_committed")) == len(plan.shard_sizes)
    assert installation.queues.depth("shards-normal") == 0


def test_urgent_work_is_leased_first(installation):
    low, _ = installation.planned_job(priority=Priority.LOW, shard_tiles=None)
    normal, _ = installation.planned_job(shard_tiles=None)
    high, _ = installation.planned_job(priority=Priority.HIGH, shard_tiles=None)
    installation.worker().run()
    leased = sorted(
        (installation.events(job.id, "shard_leased")[0].at, name)
        for name, job in [("low", low), ("normal", normal), ("high", high)]
    )
    assert [name for _, name in leased] == ["high", "normal", "low"]


def test_at_most_two_leases_are_held(installation):
    job, _ = installation.planned_job(shard_tiles=8)
    running: list[int] = []

    def states():
        return Counter(shard.state.value for shard in shards_of(installation, job))

    def look(key):
        deadline = time.monotonic() + 10
        if "result" in key:  # half of the shard was done before: the next one was asked for
            while states()["QUEUED"] and states()["RUNNING"] < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
        running.append(states()["RUNNING"])

    installation.objects = Drops(installation.objects.held, look)
    installation.worker(checkpoint_batches=1).run()
    assert max(running) == 2
    assert installation.job(job.id).state is JobState.STITCHING


def test_a_lease_that_was_lost_commits_nothing(installation):
    """The shard is taken over while it runs: the late worker's result lies under a key that nobody names."""
    job, _ = installation.planned_job(shard_tiles=None)
    taken = []

    def take_over(key):
        if key.endswith("result.npz") and not taken:
            shard = shards_of(installation, job)[0]
            # The first attempt's lease runs out, another worker takes it.
            installation.ledger.books.put_shard(expired(shard))
            taken.append(installation.ledger.lease_shard(job.id, 0, owner="other", seconds=60))

    installation.objects = Drops(installation.objects.held, take_over)
    installation.worker().run()
    assert taken[0].attempt == 2
    assert installation.events(job.id, "shard_committed") == []
    released = installation.events(job.id, "shard_released")  # by whoever found the lease run out, not by the worker
    assert [event.detail["reason"] for event in released] == [LEASE_EXPIRED]
    assert installation.job(job.id).state is JobState.RUNNING
    assert installation.queues.depth("shards-normal") == 1


def expired(shard):
    return replace(shard, lease_until=shard.lease_until.replace(year=2000))


def test_a_refused_heartbeat_stops_the_work(installation, caplog):
    job, _ = installation.planned_job(shard_tiles=None)
    checkpoints = []

    def cancel_and_wait(key):
        if not checkpoints:
            installation.ledger.cancel_job(installation.actor, job.id)
        checkpoints.append(key)
        for _ in range(100):
            if "lease lost" in caplog.messages:
                return
            time.sleep(0.05)

    installation.objects = Drops(installation.objects.held, cancel_and_wait)
    installation.worker(lease_seconds=0.6, checkpoint_batches=4).run()
    assert "lease lost" in caplog.messages
    assert "shard given up" in caplog.messages
    assert len(checkpoints) == 1
    assert installation.job(job.id).state is JobState.CANCELLED
    assert installation.events(job.id, "shard_committed") == []


class DrainsOnCopy:
    """A slide store in front of which the request to leave comes while a slide is copied."""

    def __init__(self, slides: Any, drain: Drain) -> None:
        self._slides, self._drain = slides, drain

    def open(self, uri: str, *, tenant: UUID | None = None, etag: str | None = None) -> Any:
        source, drain = self._slides.open(uri, tenant=tenant, etag=etag), self._drain

        class Source:
            size, etag = source.size, source.etag
            read = staticmethod(source.read)

            def read_many(self, ranges: Any) -> Any:
                for data in source.read_many(ranges):
                    drain.request()
                    yield data

        return Source()


def test_a_worker_that_is_to_leave_while_it_copies_a_slide_gives_the_shard_back_and_leaves_no_copy(installation):
    data = write_scn(installation.folder / "a.scn").read_bytes()
    installation.slides.put_object(installation.uri, data)
    installation.reader = open_slide(open_local_source(installation.folder / "a.scn"))
    job, plan = installation.planned_job(shard_tiles=None)
    assert plan.index is None
    slides, drain = installation.slides, Drain()
    installation.slides = DrainsOnCopy(slides, drain)
    installation.worker(drain).run()
    (shard,) = shards_of(installation, job)
    assert shard.state is ShardState.QUEUED
    assert installation.queues.depth("shards-normal") == 1
    scratch = installation.folder / "scratch"
    assert list(scratch.iterdir()) == []
    installation.slides = slides
    installation.worker().run()
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)
    assert list(scratch.iterdir()) == []


def test_heartbeats_keep_a_lease_far_beyond_its_length(installation):
    job, plan = installation.planned_job(shard_tiles=None)
    extended_until = []

    def slow(key):
        time.sleep(0.5)
        extended_until.append(shards_of(installation, job)[0].lease_until)

    installation.objects = Drops(installation.objects.held, slow)
    began = now()
    installation.worker(lease_seconds=0.6, checkpoint_batches=4).run()
    assert (extended_until[-1] - began).total_seconds() > 2 * 0.6
    assert len(installation.events(job.id, "shard_leased")) == 1
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)


def test_three_failures_in_process_poison_the_shard(installation):
    job, _ = installation.planned_job(shard_tiles=None)

    def fail(key):
        raise OSError("/data/Jane Doe/full disk")

    installation.objects = Drops(installation.objects.held, fail)
    installation.worker().run()
    failed = installation.job(job.id)
    assert (failed.state, failed.reason) == (JobState.FAILED, "poison_shard")
    events = installation.events(job.id, "shard_failed")
    assert len(events) == 3
    assert "Jane" not in str(events)
    assert installation.queues.depth("shards-normal") == 0


def test_a_store_that_is_away_fails_no_shard(installation):
    job, plan = installation.planned_job(shard_tiles=None)
    failures = iter(range(5))

    def away(key):
        if next(failures, None) is not None:
            raise SourceUnavailable("S3 does not answer.")

    installation.objects = Drops(installation.objects.held, away)
    installation.worker().run()
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)
    assert installation.events(job.id, "shard_failed") == []


def test_a_replaced_slide_fails_the_job_with_its_reason(installation):
    job, _ = installation.planned_job()
    installation.slides.put_object(installation.uri, b"another slide")
    installation.worker().run()
    failed = installation.job(job.id)
    assert (failed.state, failed.reason) == (JobState.FAILED, "slide_changed")
    assert installation.queues.depth("shards-normal") == 0


def test_a_drain_checkpoints_gives_back_and_the_next_worker_computes_at_most_one_batch_again(installation):
    job, plan = installation.planned_job(shard_tiles=30)
    drain = Drain()

    def leave_at_first_checkpoint(key):
        if "checkpoint" in key:
            drain.request()

    kept = installation.objects
    installation.objects = Drops(kept.held, leave_at_first_checkpoint)
    installation.worker(drain, checkpoint_batches=3).run()
    # What was through the model by then is kept, be it all of the shard.
    first, second = shards_of(installation, job)
    assert first.tiles_done >= 3 * 4
    assert {first.state, second.state} <= {ShardState.QUEUED, ShardState.DONE}
    released = installation.events(job.id, "shard_released")
    assert installation.events(job.id, "shard_failed") == []
    assert {event.detail["reason"] for event in released} <= {"the worker is leaving"}
    installation.objects = kept
    installation.worker().run()
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)
    assert installation.table(job.id)[1] == direct(plan, installation.reader).tobytes()


def test_the_lease_taken_ahead_is_given_back_unbegun(installation):
    job, plan = installation.planned_job(shard_tiles=20)
    drain = Drain()

    def leave_once_two_are_leased(key):
        deadline = time.monotonic() + 5
        if "checkpoint-00004" not in key:  # of five batches: half is done, the next one was asked for
            return
        while len(installation.events(job.id, "shard_leased")) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        drain.request()

    installation.objects = Drops(installation.objects.held, leave_once_two_are_leased)
    installation.worker(drain, checkpoint_batches=1).run()
    assert len(installation.events(job.id, "shard_leased")) == 2
    states = [shard.state.value for shard in shards_of(installation, job)]
    assert "RUNNING" not in states
    installation.worker().run()
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)


def test_a_broken_checkpoint_of_an_earlier_attempt_is_not_fatal(installation):
    job, plan = installation.planned_job(shard_tiles=None)
    lease = installation.ledger.lease_shard(job.id, 0, owner="dead", seconds=0)
    key = keys.of_checkpoint(job.tenant, job.id, 0, 1, 1)
    installation.objects.put(key, b"half an object")
    installation.ledger.record_checkpoint(lease, key=key, done=8, unreadable=0, tiles_per_second=None)
    time.sleep(0.01)
    installation.worker().run()
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)


def test_messages_that_mean_nothing_are_left_for_the_dead_letter_queue(installation, caplog):
    job_id = str(installation.tenant)
    meaningless = [
        {},
        {"v": 1, "job": "?"},
        {"v": 1, "job_id": 7, "shard": 0},
        {"v": 1, "job_id": job_id, "shard": None},
        {"v": "one", "job_id": job_id, "shard": 0},
        {"v": 99, "job_id": job_id, "shard": 0},
    ]
    for body in meaningless:
        installation.queues.send("shards-high", body, group="t", traceparent="")
    installation.worker(idle_seconds=1.5).run()
    assert installation.queues.depth("shards-high") == len(meaningless)
    assert "no answer to a poll" not in caplog.text


def test_an_idle_worker_leaves_and_a_lasting_one_waits_for_its_signal(installation):
    installation.worker(idle_seconds=0.2).run()
    drain = Drain()
    lasting = threading.Thread(target=installation.worker(drain, idle_seconds=0).run)
    lasting.start()
    time.sleep(0.5)
    assert lasting.is_alive()
    drain.request()
    lasting.join(5)
    assert not lasting.is_alive()


def test_a_registered_wsinfer_package_runs(tmp_path, installation):
    card = read_package(write_package(tmp_path / "source"))
    for name in ("config.json", "torchscript_model.pt"):
        installation.packages.put(f"models/{card.digest}/{name}", (tmp_path / "source" / name).read_bytes())
    installation.ledger.register_model(version_of(card))
    job, plan = installation.planned_job(card=card, package_uri=f"s3://tessera-models/models/{card.digest}/")
    installation.worker().run()
    tiles, scores = installation.table(job.id)
    assert tiles == list(range(len(plan.tiles)))
    np.testing.assert_allclose(np.frombuffer(scores, np.float32).reshape(-1, 2).sum(axis=1), 1, atol=1e-6)


def test_a_package_that_was_tampered_with_fails_the_job(tmp_path, installation):
    card = read_package(write_package(tmp_path / "source"))
    for name in ("config.json", "torchscript_model.pt"):
        installation.packages.put(f"models/{card.digest}/{name}", b"{}")
    installation.ledger.register_model(version_of(card))
    job, _ = installation.planned_job(card=card, package_uri=f"s3://tessera-models/models/{card.digest}/")
    installation.worker().run()
    failed = installation.job(job.id)
    assert (failed.state, failed.reason) == (JobState.FAILED, "model_unavailable")


def test_a_network_that_breaks_off_fails_its_job_with_its_own_words_at_the_first_shard(tmp_path, installation):
    class Picky(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            assert x.shape[-1] == 224, "Input height (64) doesn't match model (224)"
            return x.mean(dim=(2, 3))[:, :2]

    card = read_package(write_package(tmp_path / "source", Picky()))
    for name in ("config.json", "torchscript_model.pt"):
        installation.packages.put(f"models/{card.digest}/{name}", (tmp_path / "source" / name).read_bytes())
    installation.ledger.register_model(version_of(card))
    job, _ = installation.planned_job(card=card, package_uri=f"s3://tessera-models/models/{card.digest}/")
    installation.worker().run()
    failed = installation.job(job.id)
    assert (failed.state, failed.reason) == (JobState.FAILED, "model_failed")
    assert "Input height (64) doesn't match model (224)" in (failed.sentence or "")


def test_a_worker_asks_for_work_before_it_leaves_for_want_of_it(installation):
    """However late it comes to ask: a machine under load is no reason to go."""
    job, plan = installation.planned_job(shard_tiles=20)
    installation.worker(idle_seconds=1e-9).run()
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)


def test_a_shard_that_can_not_be_begun_is_no_want_of_work(installation):
    installation.planned_job(shard_tiles=20)
    installation.slides.put_object(installation.uri, b"another slide")
    installation.worker(idle_seconds=1e-9).run()
    assert installation.queues.depth("shards-normal") == 0, "the shards of the failed job are still to be thrown away"
