"""Checkpoints: all finished tiles of a shard so far, in S3, named in SQL. The next attempt resumes from them."""

from __future__ import annotations

import logging
import time
import zipfile

from gpu_worker.leases.heartbeat import LeasedShard
from wsi import keys
from wsi.errors import LeaseLost, NewerSchema, SourceMissing
from wsi.planning.plan import Plan
from wsi.ports.ledger import SystemLedger
from wsi.ports.objects import Objects
from wsi.records.shards import ShardCount
from wsi.results.shard_result import ShardResult

log = logging.getLogger(__name__)


class Checkpoints:
    """Writes what one attempt stores: checkpoints, and the commit at its end."""

    def __init__(self, leased: LeasedShard, plan: Plan, *, ledger: SystemLedger, objects: Objects) -> None:
        self._leased = leased
        self._lease = leased.lease
        self._plan = plan
        self._ledger = ledger
        self._objects = objects
        self._number = 0
        self._resumed = 0
        self._began = time.monotonic()

    def resume(self) -> ShardResult | None:
        """Return the furthest checkpoint of any attempt; None if there is none of this plan and shard."""
        self._began = time.monotonic()
        if self._lease.checkpoint_key is None:
            return None
        try:
            result = ShardResult.from_bytes(self._objects.get(self._lease.checkpoint_key))
            result.check_part_of(self._plan.digest, self._plan.shard_tiles(self._lease.index))
        except (SourceMissing, NewerSchema, ValueError, KeyError, zipfile.BadZipFile):
            log.warning("checkpoint not usable, beginning anew", exc_info=True, extra=self._leased.log_fields)
            return None
        self._resumed = result.done
        log.info("resumed", extra={**self._leased.log_fields, "tiles": result.done})
        return result

    def record(self, result: ShardResult) -> None:
        """Store a checkpoint: the object first, then its key in SQL. Raises LeaseLost."""
        job = self._lease.job
        self._number += 1
        key = keys.of_checkpoint(job.tenant, job.id, self._lease.index, self._lease.attempt, self._number)
        self._objects.put(key, result.to_bytes())
        if not self._ledger.record_checkpoint(
            self._lease,
            key=key,
            done=result.done,
            unreadable=len(result.unreadable),
            tiles_per_second=self._rate(result),
        ):
            raise LeaseLost("The lease was lost before a checkpoint.")

    def commit(self, result: ShardResult) -> None:
        """Commit the shard's result. Raises LeaseLost; the object is then under a key that nothing refers to."""
        job = self._lease.job
        key = keys.of_shard_result(job.tenant, job.id, self._lease.index, self._lease.attempt)
        self._objects.put(key, result.to_bytes())
        if not self._ledger.commit_shard(
            self._lease,
            result_key=key,
            count=ShardCount(inferred=len(result.tiles), unreadable=len(result.unreadable)),
            tiles_per_second=self._rate(result),
        ):
            raise LeaseLost("The lease was lost before the commit.")

    def _rate(self, result: ShardResult) -> float | None:
        """Return the tiles a second of this attempt."""
        seconds = time.monotonic() - self._began
        return (result.done - self._resumed) / seconds if seconds > 0 else None
