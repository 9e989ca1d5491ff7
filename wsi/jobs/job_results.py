"""Links to a job's finished shards, and to its results at the end. Every issued link is audited."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from uuid import UUID

from wsi import keys
from wsi.errors import Conflict, Invalid
from wsi.ports.ledger import TenantLedger
from wsi.ports.objects import Objects
from wsi.records.identity import Actor
from wsi.records.model_card import SCORES, ModelCard, OutputKind
from wsi.records.results import ResultFile
from wsi.records.shards import ShardOutput

LINK_SECONDS = 15 * 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Linked:
    file: ResultFile
    url: str  #: presigned; a secret: never logged


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkedShard:
    shard: ShardOutput
    url: str  #: presigned; a secret: never logged


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedShards:
    shards: tuple[LinkedShard, ...]
    after: str  #: what to give next time
    plan_url: str | None  #: presigned, of the plan that says where the shards' tile numbers lie; None without shards
    output: OutputKind  #: of the job's model


def issue_partial_links(
    actor: Actor, job_id: UUID, *, after: str | None, limit: int, ledger: TenantLedger, objects: Objects
) -> FinishedShards:
    """Return links to the finished shards that the holder of `after` has not seen, and to their plan.

    Only shards of scores are linked. Those of vectors and maps are up to 64 MB each, and their tiles are counted in the
    job. Shards finish in no order, so the cursor is the set of shards seen, one bit each. Raises NotFound, Invalid.
    """
    seen = _read_cursor(after)
    output = _find_output(actor, job_id, ledger)
    if output not in SCORES:
        return FinishedShards(shards=(), after=_make_cursor(seen), plan_url=None, output=output)
    finished = ledger.list_finished_shards(actor, job_id)
    fresh = [shard for shard in finished if not seen >> shard.index & 1][:limit]
    for shard in fresh:
        seen |= 1 << shard.index
    if fresh:
        ledger.audit(actor, "job.link_partial", str(job_id), {"shards": [shard.index for shard in fresh]})
    links = tuple(
        LinkedShard(
            shard=shard,
            url=objects.presign_download(
                shard.result_key, filename=f"shard-{shard.index:05d}.npz", seconds=LINK_SECONDS
            ),
        )
        for shard in fresh
    )
    plan_url = _plan_link(actor, job_id, ledger, objects) if fresh else None
    return FinishedShards(shards=links, after=_make_cursor(seen), plan_url=plan_url, output=output)


def issue_result_links(actor: Actor, job_id: UUID, *, ledger: TenantLedger, objects: Objects) -> tuple[Linked, ...]:
    """Return a presigned link to each result file, and record them in the audit log. Raises NotFound, and Conflict
    unless the job succeeded."""
    job = ledger.get_job(actor, job_id)
    if not job.state.is_success:
        raise Conflict(f"The job is {job.state.value}; it has results once it is COMPLETED.")
    files = ledger.list_results(actor, job_id)
    ledger.audit(actor, "job.link_results", str(job_id), {"files": [file.name for file in files]})
    return tuple(
        Linked(file=file, url=objects.presign_download(file.key, filename=file.name, seconds=LINK_SECONDS))
        for file in files
    )


def _find_output(actor: Actor, job_id: UUID, ledger: TenantLedger) -> OutputKind:
    """Return the kind of output of the job's model. Raises NotFound."""
    job = ledger.get_job(actor, job_id)
    model = ledger.get_model(actor, job.model, job.model_version, digest=job.model_digest)
    return ModelCard.from_json(model.card).output


def _plan_link(actor: Actor, job_id: UUID, ledger: TenantLedger, objects: Objects) -> str:
    job = ledger.get_job(actor, job_id)
    return objects.presign_download(
        job.plan_key or keys.of_plan(job.tenant, job.id), filename="plan.json.gz", seconds=LINK_SECONDS
    )


def _read_cursor(after: str | None) -> int:
    try:
        return int.from_bytes(base64.b64decode(after or "", altchars=b"-_", validate=True), "little")
    except ValueError as error:
        raise Invalid("The cursor 'after' is not one that this API gave.") from error


def _make_cursor(seen: int) -> str:
    return base64.urlsafe_b64encode(seen.to_bytes((seen.bit_length() + 7) // 8, "little")).decode()
