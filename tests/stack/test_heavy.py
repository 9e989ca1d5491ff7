"""Plans that look anew at slides too large for a function: routed by what inspection stored, made on this machine by
the stack itself, on AWS by `python -m gpu_worker.heavy`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from adapters.settings import processes
from adapters.settings.queues import HEAVY
from adapters.sqs import SqsQueues
from local import functions
from local.environment import make_child_environ
from local.options import QUEUE_PREFIX, RESULTS, SLIDES
from local.pollers import QueuePoller
from local.processes import children
from local.workers import ROOT
from tessera.api.rest import RemoteSlide
from tests.stack.lab import Lab, eventually
from wsi.states import JobState

pytestmark = pytest.mark.stack


#: As inspection would store it of a slide without overviews.
LEVEL = {"width": 60_000, "height": 40_000, "downsample": 1.0, "tile_width": 256, "tile_height": 256}


@pytest.fixture(scope="module")
def large(lab: Lab, middling_slide: Path) -> RemoteSlide:
    """In what inspection stored, larger than it is."""
    slide = lab.upload(middling_slide)
    lab.sql(
        "UPDATE slides SET inspection = jsonb_set(inspection::jsonb, '{levels}', %s::jsonb) WHERE id = %s",
        json.dumps([LEVEL]),
        slide.slide_id,
    )
    return slide


def queues_of(lab: Lab, job_id: object) -> set[str]:
    rows = lab.sql("SELECT topic FROM outbox WHERE body ->> 'job_id' = %s", str(job_id))
    return {row["topic"] for row in rows} & {"plan", HEAVY}


def test_a_large_slide_is_analysed_as_any_other(lab: Lab, large: RemoteSlide) -> None:
    lab.stack.workers.start()
    job = lab.run(large, mpp=0.5)
    assert job.status == JobState.COMPLETED
    assert queues_of(lab, job.job_id) == {HEAVY}


def test_a_plan_that_begins_with_what_inspection_kept_is_none_for_others(lab: Lab, large: RemoteSlide) -> None:
    job = lab.submit(large)
    eventually(lambda: lab.moves(job) == ["QUEUED", "PLANNING", "RUNNING"], seconds=60, what="the plan")
    assert queues_of(lab, job.job_id) == {"plan"}
    lab.cancel(job)


@pytest.fixture
def alone(lab: Lab) -> Iterator[None]:
    """The stack leaves heavy plans to others."""
    own = lab.stack.pollers[HEAVY]
    own.ask_to_stop()
    own.join()
    yield
    mapped = functions.make_queue_functions(lab.stack.addresses, lab.stack.options, graphql_url=lab.stack.graphql_url)
    (heavy,) = [one for one in mapped if one.queue == HEAVY]
    lab.stack.pollers[HEAVY] = QueuePoller(SqsQueues(lab.stack.clients, QUEUE_PREFIX), heavy)
    lab.stack.pollers[HEAVY].start()


@pytest.mark.usefixtures("alone")
def test_the_process_for_heavy_plans_makes_one_and_leaves_when_told_to(
    lab: Lab, large: RemoteSlide, tmp_path: Path
) -> None:
    settings = processes.HeavySettings(
        **lab.stack.addresses.make_common_settings(lab.stack.addresses.system_dsn),
        slides_bucket=SLIDES,
        results_bucket=RESULTS,
        queue_prefix=QUEUE_PREFIX,
        shard_tiles=800,
        scratch=str(tmp_path / "scratch"),
        idle_seconds=0,
    )
    planner = children.start(
        [sys.executable, "-m", "gpu_worker.heavy"],
        env=make_child_environ(settings.make_environ()),
        log=tmp_path / f"heavy-{uuid4().hex[:6]}.log",
        cwd=ROOT,
    )
    try:
        job = lab.submit(large, mpp=0.5)
        eventually(lambda: lab.moves(job) == ["QUEUED", "PLANNING", "RUNNING"], seconds=60, what="the plan")
    finally:
        children.stop(planner, seconds=90)
    assert planner.returncode == 0
    lab.stack.workers.start()
    assert lab.wait(job).status == JobState.COMPLETED
