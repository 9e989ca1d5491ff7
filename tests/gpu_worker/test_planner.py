"""Heavy plans: made once, given back or given up, whatever happens to the process that makes them."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adapters.settings import processes
from adapters.settings import worker_metrics as names
from adapters.settings.queues import HEAVY, RECEIVES
from gpu_worker.drain import Drain
from gpu_worker.health.server import State
from gpu_worker.planner import HeavyPlanner
from tests.gpu_worker.installation import Installation
from tests.slides.scn import write_scn
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan_queue import COPIED_BYTES
from wsi.records.jobs import JobOptions, NewJob
from wsi.states import JobState
from wsi.tracing import make_traceparent


class BrokenSlides:
    """A slide store with a bug."""

    def open(self, uri: str, *, tenant: UUID | None = None, etag: str | None = None) -> Any:
        raise RuntimeError("a bug")


class SlowSlides:
    """Does not open a slide before it is let."""

    def __init__(self, slides: Any) -> None:
        self._slides = slides
        self.opening, self.let = threading.Event(), threading.Event()

    def open(self, uri: str, *, tenant: UUID | None = None, etag: str | None = None) -> Any:
        self.opening.set()
        assert self.let.wait(30)
        return self._slides.open(uri, tenant=tenant, etag=etag)


class Heavy(Installation):
    """Its slide is one that is read from a large copy, as inspection tells it."""

    def submitted(self) -> UUID:
        """A QUEUED job whose message lies in the queue of the heavy ones."""
        slide = self.ledger.books.slides[self.slide_id]
        files = tuple(replace(file, size=COPIED_BYTES + 1) for file in slide.files)
        inspection = {**(slide.inspection or {}), "reading_path": "scratch"}
        self.ledger.books.slides[self.slide_id] = replace(slide, files=files, inspection=inspection)
        new = NewJob(
            id=uuid4(),
            slide_id=self.slide_id,
            slide_version=slide.version,
            model=STAIN_DENSITY.name,
            model_version=STAIN_DENSITY.version,
            model_digest=STAIN_DENSITY.digest,
            options=JobOptions(mpp=0.5),  # stated, and so not what inspection looked at
            identity=uuid4().hex,
            traceparent=make_traceparent(),
        )
        self.ledger.submit_job(self.actor, new, idempotency=None, reuse_finished=False)
        for row in self.ledger.claim_outbox(limit=100, seconds=60):
            if row.topic != "push":
                self.queues.send(row.topic, row.body, group=str(row.tenant), traceparent=row.traceparent)
        return new.id

    def planner(
        self, drain: Drain | None = None, *, slides: Any = None, waits: dict[str, float] | None = None, **settings: Any
    ) -> HeavyPlanner:
        return HeavyPlanner(
            processes.HeavySettings(
                region="eu-central-1",
                database_dsn="",
                slides_bucket="tessera-slides",
                results_bucket="tessera-results",
                scratch=str(self.folder / "scratch"),
                **{"idle_seconds": 0.01, **settings},
            ),
            ledger=self.ledger,
            queues=self.queues,
            objects=self.objects,
            slides=slides or self.slides,
            drain=drain or Drain(),
            **{"poll_seconds": 0.05, **(waits or {})},
        )

    def receive(self) -> Any:
        found = self.queues.receive(HEAVY, limit=1, wait_seconds=0, visibility_seconds=0)
        return found[0] if found else None

    def state(self, job_id: UUID) -> JobState:
        return self.job(job_id).state


@pytest.fixture
def heavy(tmp_path) -> Heavy:
    return Heavy(tmp_path)


def plans(planner: HeavyPlanner) -> dict[str, float]:
    """By outcome, those that happened."""
    families = text_string_to_metric_families(planner.format_metrics().decode())
    found = (one for family in families for one in family.samples if one.name == names.PLANS)
    return {one.labels["outcome"]: one.value for one in found if one.value}


def in_background(planner: HeavyPlanner) -> threading.Thread:
    thread = threading.Thread(target=planner.run, daemon=True)
    thread.start()
    return thread


def test_a_heavy_job_is_planned_and_its_message_gone(heavy):
    job = heavy.submitted()
    assert heavy.queues.depth("plan") == 0
    planner = heavy.planner()
    planner.run()
    assert heavy.state(job) is JobState.RUNNING
    assert heavy.job(job).tiles_planned > 0
    assert heavy.queues.depth(HEAVY) == 0
    assert heavy.queues.depth("wake") == 1
    assert plans(planner) == {"done": 1}


def test_the_same_message_twice_plans_once(heavy):
    job = heavy.submitted()
    body = {"v": 1, "job_id": str(job)}
    heavy.queues.send(HEAVY, body, group="t", traceparent="")
    heavy.planner(idle_seconds=0.3).run()
    assert heavy.state(job) is JobState.RUNNING
    assert len(heavy.events(job, "moved")) == 3
    assert heavy.queues.depth(HEAVY) == 0


def test_a_plan_that_fails_comes_again(heavy):
    job = heavy.submitted()
    planner = heavy.planner(slides=BrokenSlides(), visibility_seconds=1)
    planner.run()
    assert plans(planner) == {"failed": 1}
    assert heavy.state(job) is JobState.PLANNING
    assert heavy.queues.depth(HEAVY) == 1
    heavy.planner(idle_seconds=1.5).run()
    assert heavy.state(job) is JobState.RUNNING


def test_the_last_try_fails_the_job_and_leaves_the_message_for_people(heavy):
    job = heavy.submitted()
    for _ in range(RECEIVES - 1):
        assert heavy.receive() is not None
    planner = heavy.planner(slides=BrokenSlides())
    planner.run()
    assert plans(planner) == {"given_up": 1}
    assert (heavy.state(job), heavy.job(job).reason) == (JobState.FAILED, "planning_failed")
    assert heavy.queues.depth(HEAVY) == 1
    assert heavy.queues.depth("wake") == 1


def test_a_plan_that_takes_too_long_for_a_process_that_leaves_is_given_back_at_once(heavy):
    job = heavy.submitted()
    drain, slow = Drain(), SlowSlides(heavy.slides)
    leaving = heavy.planner(drain, slides=slow, waits={"drain_seconds": 0.1})
    thread = in_background(leaving)
    assert slow.opening.wait(60)
    assert (leaving.state, heavy.receive()) == (State.RUNNING, None)
    drain.request()
    thread.join(60)
    assert not thread.is_alive()
    assert plans(leaving) == {"returned": 1}
    heavy.planner().run()  # at once: the message is visible
    assert heavy.state(job) is JobState.RUNNING
    slow.let.set()


def test_a_plan_that_ends_soon_is_waited_for(heavy):
    job = heavy.submitted()
    drain, slow = Drain(), SlowSlides(heavy.slides)
    leaving = heavy.planner(drain, slides=slow)
    thread = in_background(leaving)
    assert slow.opening.wait(60)
    drain.request()
    assert (leaving.state, leaving.is_alive) == (State.LEAVING, True)
    slow.let.set()
    thread.join(60)
    assert not thread.is_alive()
    assert heavy.state(job) is JobState.RUNNING
    assert heavy.queues.depth(HEAVY) == 0


def test_a_slide_that_is_copied_when_the_process_is_to_leave_is_given_back_and_leaves_no_copy(heavy):
    heavy.slides.put_object(heavy.uri, write_scn(heavy.folder / "a.scn").read_bytes())
    job = heavy.submitted()
    drain, slow = Drain(), SlowSlides(heavy.slides)
    leaving = heavy.planner(drain, slides=slow)
    thread = in_background(leaving)
    assert slow.opening.wait(60)
    drain.request()
    slow.let.set()
    thread.join(60)
    assert not thread.is_alive()
    assert plans(leaving) == {"returned": 1}
    assert list((heavy.folder / "scratch").iterdir()) == []
    heavy.planner().run()
    assert heavy.state(job) is JobState.RUNNING


def test_a_message_stays_hidden_for_as_long_as_its_plan_takes(heavy):
    heavy.submitted()
    extended, extend = threading.Semaphore(0), heavy.queues.extend

    def counted(queue: str, receipt: str, *, seconds: int) -> None:
        extend(queue, receipt, seconds=seconds)
        extended.release()

    heavy.queues.extend = counted
    slow = SlowSlides(heavy.slides)
    thread = in_background(heavy.planner(slides=slow, visibility_seconds=1))
    for _ in range(5):  # five thirds of its visibility
        assert extended.acquire(timeout=60)
    assert heavy.receive() is None
    slow.let.set()
    thread.join(60)
    assert heavy.queues.depth(HEAVY) == 0


def test_messages_that_mean_nothing_are_left_for_the_dead_letter_queue(heavy):
    job_id = str(uuid4())
    meaningless = [{}, {"v": 1}, {"v": 1, "job_id": 7}, {"v": "one", "job_id": job_id}, {"v": 99, "job_id": job_id}]
    for body in meaningless:
        heavy.queues.send(HEAVY, body, group="t", traceparent="")
    planner = heavy.planner(idle_seconds=0.3)
    planner.run()
    assert heavy.queues.depth(HEAVY) == len(meaningless)
    assert plans(planner) == {}


def test_a_plan_that_hangs_is_told_on_live(heavy):
    assert not heavy.planner(waits={"stuck_seconds": -1.0}).is_alive
