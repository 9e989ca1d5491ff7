"""A worker's surroundings in memory: ledger, queues, buckets, one slide, jobs whose plans are made."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np

from adapters.settings import processes
from gpu_worker.drain import Drain
from gpu_worker.waits import WorkerWaits
from gpu_worker.worker import Worker
from tests.fakes.ledger import MemoryLedger
from tests.fakes.objects import MemoryObjects
from tests.fakes.queues import MemoryQueues
from tests.fakes.slides import MemorySlideStore
from tests.inference.cases import small_slide, whole_plan
from wsi import keys
from wsi.models.builtin import STAIN_DENSITY
from wsi.planning.plan import Plan
from wsi.ports.tracing import NO_TRACER, Tracer
from wsi.records.identity import Actor, Role
from wsi.records.jobs import Job, JobEvent, NewJob, Priority
from wsi.records.model_card import ModelCard
from wsi.records.models import ModelVersion
from wsi.records.notices import SHARD_QUEUES
from wsi.records.slides import SlideFile
from wsi.results.shard_result import ShardResult
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_slide
from wsi.tracing import make_traceparent

#: Of a worker whose queue and store answer at once.
SHORT = WorkerWaits(poll=0.05, retry=0.01, trial_rate=0.1)


def now() -> datetime:
    return datetime.now(UTC)


class Installation:
    def __init__(self, folder: Path, **slide: int) -> None:
        self.folder = folder
        self.tenant = uuid4()
        self.actor = Actor(tenant=self.tenant, subject="user:test", role=Role.ANALYST)
        self.ledger = MemoryLedger(now)
        self.queues = MemoryQueues(now)
        self.objects = MemoryObjects()
        self.packages = MemoryObjects()
        self.slides = MemorySlideStore()
        self.slide_path = small_slide(folder, **slide)
        self.slide_id = uuid4()
        self.uri = self.slides.make_uri(keys.of_slide_file(self.tenant, self.slide_id, 0))
        self.slides.put_object(self.uri, self.slide_path.read_bytes())
        # From the store, as the planner does: the index that ships with the plan is pinned to the object's ETag.
        self.reader = open_slide(SlideSource(files=(("slide.svs", self.slides.open(self.uri)),)))
        file = SlideFile(name="slide.svs", uri=self.uri, size=self.slide_path.stat().st_size)
        self.ledger.register_slide(self.actor, self.slide_id, "slide", [file], mpp=None, digest="d")
        self.ledger.accept_slide(self.slide_id, self.reader.inspection.as_json(), "thumbnail", version=1)
        self.ledger.register_model(version_of(STAIN_DENSITY))

    def planned_job(
        self,
        *,
        card: ModelCard = STAIN_DENSITY,
        priority: Priority = Priority.NORMAL,
        shard_tiles: int | None = 20,
        package_uri: str | None = None,
    ) -> tuple[Job, Plan]:
        """A RUNNING job whose shards' messages lie in their queue."""
        new = NewJob(
            id=uuid4(),
            slide_id=self.slide_id,
            slide_version=2,
            model=card.name,
            model_version=card.version,
            model_digest=card.digest,
            priority=priority,
            identity=uuid4().hex,
            traceparent=make_traceparent(),
        )
        self.ledger.submit_job(self.actor, new, idempotency=None, reuse_finished=False)
        assert self.ledger.begin_planning(new.id) is not None
        plan = whole_plan(
            self.reader,
            card=card,
            batch=4,
            shard_tiles=shard_tiles,
            uri=self.uri,
            etag=self.slides.open(self.uri, tenant=self.tenant).etag,
            package_uri=package_uri,
        )
        key = keys.of_plan(self.tenant, new.id)
        self.objects.put(key, plan.to_bytes())
        assert self.ledger.commit_plan(new.id, plan_key=key, plan_digest=plan.digest, shard_tiles=plan.shard_sizes)
        self.relay()
        return self.job(new.id), plan

    def relay(self) -> None:
        """What the relay does: shards out of their lines, and outbox rows into their queues."""
        self.ledger.admit_shards(in_flight=1000)
        rows = self.ledger.claim_outbox(limit=1000, seconds=60)
        for row in rows:
            if row.topic in SHARD_QUEUES.values():
                self.queues.send(row.topic, row.body, group=str(row.tenant), traceparent=row.traceparent)
        self.ledger.mark_sent([row.id for row in rows])

    def worker(
        self,
        drain: Drain | None = None,
        *,
        waits: WorkerWaits = SHORT,
        tracer: Tracer = NO_TRACER,
        **settings: Any,
    ) -> Worker:
        defaults: dict[str, Any] = {
            "idle_seconds": 0.01,
            "model_cache": str(self.folder / "models"),
            "lock_models": False,  # a process that imports torch for each model: seconds
        }
        return Worker(
            processes.WorkerSettings(
                region="eu-central-1",
                database_dsn="",
                slides_bucket="tessera-slides",
                results_bucket="tessera-results",
                models_bucket="tessera-models",
                scratch=str(self.folder / "scratch"),
                **{**defaults, **settings},
            ),
            ledger=self.ledger,
            queues=self.queues,
            objects=self.objects,
            slides=self.slides,
            packages=self.packages,
            drain=drain or Drain(),
            waits=waits,
            tracer=tracer,
        )

    def job(self, job_id: UUID) -> Job:
        return self.ledger.get_job(self.actor, job_id)

    def events(self, job_id: UUID, kind: str) -> list[JobEvent]:
        return [e for e in self.ledger.list_job_events(self.actor, job_id, after=0, limit=1000) if e.kind == kind]

    def result(self, job_id: UUID, index: int) -> ShardResult:
        shard = next(s for s in self.ledger.list_finished_shards(self.actor, job_id) if s.index == index)
        return ShardResult.from_bytes(self.objects.get(shard.result_key))

    def results(self, job_id: UUID) -> list[ShardResult]:
        return [
            ShardResult.from_bytes(self.objects.get(shard.result_key))
            for shard in self.ledger.list_finished_shards(self.actor, job_id)
        ]

    def table(self, job_id: UUID) -> tuple[list[int], bytes]:
        """Tile numbers and the bytes of their scores, over all finished shards."""
        results = self.results(job_id)
        tiles = np.concatenate([result.tiles for result in results])
        order = np.argsort(tiles)
        return tiles[order].tolist(), np.concatenate([result.scores for result in results])[order].tobytes()


class Drops(MemoryObjects):
    """Runs `at(key)` before a put."""

    def __init__(self, held, at) -> None:
        super().__init__()
        self.held = held
        self._at = at

    def put(self, key, data, *, media_type="application/octet-stream"):
        self._at(key)
        super().put(key, data, media_type=media_type)


def version_of(card: ModelCard) -> ModelVersion:
    return ModelVersion(name=card.name, version=card.version, digest=card.digest, card=card.as_json(), package_uri=None)
