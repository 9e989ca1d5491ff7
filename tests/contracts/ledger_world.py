"""What the ledger contract runs in, and the steps that its tests share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol
from uuid import UUID, uuid4

from wsi.ports.identities import Identities
from wsi.ports.ledger import SystemLedger, TenantLedger
from wsi.records.identity import Actor
from wsi.records.jobs import Idempotency, Job, JobOptions, NewJob, Priority
from wsi.records.models import ModelVersion
from wsi.records.quotas import Quotas, Retention
from wsi.records.results import ResultFile
from wsi.records.shards import Lease, ShardCount
from wsi.records.slides import Slide, SlideFile
from wsi.sources.source import Source

MODEL = ModelVersion(
    name="stain-density", version="1", digest="d" * 64, card={"name": "stain-density", "mpp": 0.5}, package_uri=None
)
INSPECTION: dict[str, Any] = {"format": "svs", "width": 2220, "mpp_x": 0.499, "levels": [{"width": 2220}]}
#: Of a slide without overviews: plans at another scale than inspection's are heavy ones.
LARGE_INSPECTION: dict[str, Any] = {**INSPECTION, "levels": [{"width": 60_000, "height": 40_000}]}
HEAVY_OPTIONS = JobOptions(mpp=0.25)
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
PLAN_DIGEST = "p" * 64


class LedgerWorld(Protocol):
    """One ledger with two tenants, and what only its maker can do: let time pass, look behind the ports."""

    tenants: TenantLedger
    system: SystemLedger
    identities: Identities
    actor: Actor  #: an analyst; "user:…" of ISSUER/SUBJECT, and the key KEY is of the same tenant
    other: Actor  #: of another tenant; the tenants are called "one" and "two"

    def pass_time(self, seconds: float) -> None: ...

    def outbox(self) -> list[tuple[str, dict[str, Any]]]:
        """(topic, body) of every row ever written, oldest first."""
        ...

    def audit_lines(self, actor: Actor) -> list[tuple[str, str, str]]:
        """(actor, action, subject), oldest first."""
        ...

    def usage(self, actor: Actor) -> tuple[int, float]:
        """Tiles and worker seconds of the tenant."""
        ...

    def set_quotas(self, actor: Actor | None, quotas: Quotas) -> None:
        """Set the quotas of the actor's tenant, as an operator does; None: of all without their own."""
        ...

    def set_retention(self, actor: Actor, retention: Retention) -> None:
        """Set how long the actor's tenant keeps what, as an operator does."""
        ...

    def set_sources(self, actor: Actor, *sources: Source) -> None:
        """Set the sources of the actor's tenant, as an operator does."""
        ...

    def add_admin(self, actor: Actor, email: str) -> None:
        """Add an admin to the actor's tenant."""
        ...

    def forget_stitching(self, job_id: UUID) -> None:
        """Damage: the job is RUNNING again although all of its shards are DONE."""
        ...


ISSUER, SUBJECT = "https://issuer.example", "8c1f"
EMAIL = "ada@hospital.example"  #: of the actor; the other one's nobody said
KEY_NAME = "scanner"
KEY_PREFIX, KEY_SECRET = "abc123", "correct-horse"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def files(slide_id: UUID, count: int = 1) -> tuple[SlideFile, ...]:
    return tuple(
        SlideFile(name=f"part{n}.svs", uri=f"s3://slides/{slide_id}/{n}", size=1000 + n, upload_id=f"upload-{n}")
        for n in range(count)
    )


def uploading_slide(world: LedgerWorld, *, actor: Actor | None = None, name: str = "Case 7 H&E") -> Slide:
    slide_id = uuid4()
    return world.tenants.create_slide(actor or world.actor, slide_id, name, files(slide_id), mpp=None)


def uploaded_slide(world: LedgerWorld, *, actor: Actor | None = None, name: str = "Case 7 H&E") -> Slide:
    slide = uploading_slide(world, actor=actor, name=name)
    etags = {slide.files[0].uri: "etag-0"}
    return world.tenants.complete_upload(actor or world.actor, slide.id, digest="abc-1", etags=etags)


def ready_slide(
    world: LedgerWorld,
    *,
    actor: Actor | None = None,
    name: str = "Case 7 H&E",
    inspection: dict[str, Any] = INSPECTION,
) -> Slide:
    slide = uploaded_slide(world, actor=actor, name=name)
    assert world.system.accept_slide(slide.id, inspection, "thumbnail.jpeg", version=slide.version)
    return world.tenants.get_slide(actor or world.actor, slide.id)


def new_job(slide: Slide, **changes: Any) -> NewJob:
    fields: dict[str, Any] = {
        "id": uuid4(),
        "slide_id": slide.id,
        "slide_version": slide.version,
        "model": MODEL.name,
        "model_version": MODEL.version,
        "model_digest": MODEL.digest,
        "priority": Priority.HIGH,
        "options": JobOptions(region=(0, 0, 512, 512), min_tissue=0.25),
        "identity": sha256(str(slide.id)),
        "traceparent": TRACE,
    }
    return NewJob(**{**fields, **changes})


def submit(
    world: LedgerWorld,
    job: NewJob,
    *,
    key: str | None = None,
    body: str = "body",
    reuse: bool = True,
    actor: Actor | None = None,
) -> Any:
    idempotency = Idempotency(key=key, body_digest=sha256(body)) if key else None
    return world.tenants.submit_job(
        actor or world.actor, job, idempotency=idempotency, reuse_finished=reuse, share_live=reuse
    )


def queued_job(world: LedgerWorld, **changes: Any) -> Job:
    slide = changes.pop("slide", None) or ready_slide(world)
    return submit(world, new_job(slide, **changes), reuse=False).job


def plan(world: LedgerWorld, job_id: UUID, sizes: Sequence[int], *, digest: str = PLAN_DIGEST) -> Job:
    assert world.system.begin_planning(job_id)
    assert world.system.commit_plan(job_id, plan_key=f"{job_id}/plan", plan_digest=digest, shard_tiles=sizes)
    world.system.admit_shards(in_flight=10_000)
    return world.tenants.get_job(world.actor, job_id)


def running_job(world: LedgerWorld, sizes: Sequence[int] = (10, 10, 5), **changes: Any) -> Job:
    return plan(world, queued_job(world, **changes).id, sizes)


def lease(world: LedgerWorld, job: Job, index: int, *, owner: str = "worker-1", seconds: float = 60) -> Lease:
    taken = world.system.lease_shard(job.id, index, owner=owner, seconds=seconds)
    assert isinstance(taken, Lease), taken
    return taken


def commit(world: LedgerWorld, held: Lease, *, unreadable: int = 0, rate: float | None = None) -> bool:
    count = ShardCount(inferred=held.tiles - unreadable, unreadable=unreadable)
    key = f"{held.job.id}/{held.index}/{held.attempt}"
    return world.system.commit_shard(held, result_key=key, count=count, tiles_per_second=rate)


def checkpoint(
    world: LedgerWorld, held: Lease, *, done: int, unreadable: int = 0, rate: float | None = None, key: str = "c"
) -> bool:
    return world.system.record_checkpoint(held, key=key, done=done, unreadable=unreadable, tiles_per_second=rate)


def stitching_job(world: LedgerWorld, sizes: Sequence[int] = (10, 5), *, unreadable: int = 0, **changes: Any) -> Job:
    job = running_job(world, sizes, **changes)
    for index in range(len(sizes)):
        assert commit(world, lease(world, job, index), unreadable=unreadable if index == 0 else 0)
    return world.tenants.get_job(world.actor, job.id)


def completed_job(world: LedgerWorld, **changes: Any) -> Job:
    job = stitching_job(world, **changes)
    assert world.system.commit_results(job.id, (RESULT,))
    return world.tenants.get_job(world.actor, job.id)


RESULT = ResultFile(name="tiles.csv", key="results/tiles.csv", size=12, sha256="e" * 64, media_type="text/csv")


def topics(world: LedgerWorld, topic: str) -> list[dict[str, Any]]:
    return [body for name, body in world.outbox() if name == topic]


def kinds(world: LedgerWorld, job: Job) -> list[str]:
    return [event.kind for event in world.tenants.list_job_events(world.actor, job.id, after=0, limit=1000)]
