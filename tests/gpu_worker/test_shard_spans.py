"""The spans of a worker's shards: few, complete, in the trace of the job."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gpu_worker.leases.settlement import ShardOutcome
from tests.gpu_worker.installation import Installation
from tests.spans import MemoryTracer
from wsi.records.spans import SpanKind
from wsi.tracing import read_span_id

MOST_SPANS = 10  #: of a shard, in the worker


@pytest.fixture
def installation(tmp_path):
    return Installation(tmp_path)


def below(tracer, span):
    return [one for one in tracer.spans if one.parent == span.span_id]


def test_a_shard_gives_at_most_ten_spans_whatever_its_tiles(installation):
    tracer = MemoryTracer()
    job, plan = installation.planned_job(shard_tiles=10)
    installation.worker(tracer=tracer).run()
    shards = len(plan.shard_sizes)
    assert shards > 1
    assert installation.job(job.id).tiles_inferred == len(plan.tiles)
    # Slide and model are opened once.
    rare = sum(name in ("open slide", "load model") for name in tracer.names)
    assert rare <= 2
    assert len(tracer.spans) - rare <= MOST_SPANS * shards


def test_every_span_is_in_the_jobs_trace_and_below_its_lease(installation):
    tracer = MemoryTracer()
    job, plan = installation.planned_job(shard_tiles=20)
    installation.worker(tracer=tracer).run()
    cause = read_span_id(job.traceparent)
    assert {span.trace_id for span in tracer.spans} == {job.traceparent.split("-")[1]}
    assert {span.service for span in tracer.spans} == {"gpu_worker"}
    known = {span.span_id for span in tracer.spans} | {cause}
    assert all(span.parent in known for span in tracer.spans)
    leases = [span for span in tracer.spans if span.name == "lease shard"]
    assert [(one.attributes["shard"], one.attributes["attempt"]) for one in leases] == [
        (index, 1) for index in range(len(plan.shard_sizes))
    ]
    for lease in leases:
        assert (lease.parent, lease.kind) == (cause, SpanKind.CONSUMER)
        parts = [span.name for span in below(tracer, lease)]
        assert Counter(parts) == Counter(["prepare shard", "compute shard", "commit shard", "settle shard"])


def test_the_computation_names_what_it_did_and_its_stages_are_within_it(installation):
    tracer = MemoryTracer()
    job, plan = installation.planned_job(shard_tiles=None)
    installation.worker(tracer=tracer).run()
    compute = tracer.one("compute shard")
    assert compute.attributes["tiles"] == len(plan.tiles)
    assert compute.attributes["unreadable"] == 0
    assert (compute.attributes["model"], compute.attributes["model_version"]) == (job.model, job.model_version)
    assert compute.attributes["requests"] > 0
    assert compute.attributes["bytes"] > 0
    stages = below(tracer, compute)
    assert {"fetch", "decode", "forward"} <= {span.name for span in stages} <= {"fetch", "decode", "forward", "write"}
    for stage in stages:
        assert stage.attributes["is_sum"] is True
        assert compute.began <= stage.began <= stage.ended <= compute.ended
        assert stage.seconds <= stage.attributes["busy_seconds"] + 1e-5
    assert tracer.one("settle shard").attributes["outcome"] == ShardOutcome.COMMITTED


def test_a_wait_in_the_queue_ends_where_the_lease_begins(installation):
    tracer = MemoryTracer()
    installation.planned_job(shard_tiles=None)
    installation.worker(tracer=tracer).run()
    wait, lease = tracer.one("queue shards-normal"), tracer.one("lease shard")
    assert wait.began <= wait.ended == lease.began
    assert wait.attributes["receives"] == 1


def test_a_failed_attempt_says_why_by_a_code(installation):
    tracer = MemoryTracer()
    installation.planned_job(shard_tiles=None)
    installation.slides.put_object(installation.uri, np.random.default_rng(1).bytes(10_000))  # replaced after the plan
    installation.worker(tracer=tracer).run()
    settled = tracer.one("settle shard")
    assert settled.error == "source_changed"
    assert settled.attributes["outcome"] == ShardOutcome.JOB_FAILED


def test_the_last_spans_are_flushed_when_the_worker_exits_and_lost_ones_are_a_metric(installation):
    tracer = MemoryTracer()
    tracer.lost = 3
    worker = installation.worker(tracer=tracer)
    worker.run()
    assert tracer.flushes == 1
    assert b"wsi_worker_spans_lost_total 3.0" in worker.format_metrics()
