"""Records that are sent after a commit: outbox rows, queue messages, job updates for subscribers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from wsi.records.jobs import Job, Priority

PUSH = "push"  #: outbox topic that goes to subscribers
REVOCATION = "revocation"  #: outbox topic that ends subscriptions; every topic but these two is a queue's name
EVERYBODY = "*"  #: the subject of a revocation that concerns a whole tenant; no person and no key has this name
SHARD_QUEUES = {priority: f"shards-{priority.value}" for priority in Priority}
MESSAGE_SCHEMA = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class OutboxRow:
    id: int
    topic: str
    tenant: UUID  #: MessageGroupId on fair queues
    body: dict[str, Any]  #: ids only; for PUSH a `JobUpdate.as_json()`, for REVOCATION the fields of a `Revocation`
    traceparent: str
    created_at: datetime | None = None  #: when its transaction began


@dataclass(frozen=True, kw_only=True, slots=True)
class Revocation:
    """The end of somebody's access. SQL writes it in the transaction that takes the access away (revision 0025)."""

    tenant: str
    subject: str  #: "user:<uuid>", "key:<uuid>", or EVERYBODY of the tenant


@dataclass(frozen=True, kw_only=True, slots=True)
class JobUpdate:
    """The part of a job that subscribers see. Never PHI, never a presigned URL, below 4 KB."""

    job_id: str
    tenant: str
    slide_id: str
    status: str
    version: int
    progress_seq: int
    progress: float  #: 0..1
    tiles_planned: int
    tiles_inferred: int
    tiles_unreadable: int
    tiles_per_second: float | None
    eta_seconds: float | None
    reason: str | None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


#: GraphQL's name of each field of a JobUpdate: progress_seq is progressSeq there.
GRAPHQL_NAMES: Mapping[str, str] = {field.name: _camel(field.name) for field in fields(JobUpdate)}


def make_job_update(job: Job) -> JobUpdate:
    rate, left = job.tiles_per_second, job.seconds_left
    return JobUpdate(
        job_id=str(job.id),
        tenant=str(job.tenant),
        slide_id=str(job.slide_id),
        status=job.state.value,
        version=job.version,
        progress_seq=job.progress_seq,
        progress=round(job.progress, 4),
        tiles_planned=job.tiles_planned,
        tiles_inferred=job.tiles_inferred,
        tiles_unreadable=job.tiles_unreadable,
        tiles_per_second=round(rate, 1) if rate else None,
        eta_seconds=round(left, 1) if left is not None else None,
        reason=job.reason,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class OutgoingMessage:
    """A message for a queue, before it is sent."""

    body: dict[str, Any]
    group: str  #: the tenant: MessageGroupId on fair queues
    traceparent: str


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueMessage:
    body: dict[str, Any]
    receipt: str  #: of this receive; void after the next one
    receives: int
    traceparent: str | None
    sent_at: datetime | None = None
    message_id: str = ""  #: the same at each receive, also among the dead letters
    text: str = ""  #: the body as it came, JSON or not
