"""Takes work: one message and one lease at a time."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from uuid import UUID

from gpu_worker.drain import Drain
from gpu_worker.hidden_message import HiddenMessage
from gpu_worker.leases.heartbeat import Heartbeats, LeasedShard
from gpu_worker.leases.turns import order_queues
from gpu_worker.refusals import Refusals
from gpu_worker.trials.trial_messages import parse_registration
from wsi.errors import LeaseLost, UnsuitableDevice
from wsi.ports.ledger import SystemLedger
from wsi.ports.queues import Queues
from wsi.records.jobs import Job
from wsi.records.notices import MESSAGE_SCHEMA, QueueMessage
from wsi.records.shards import LeaseRefusal
from wsi.tracing import continue_trace

log = logging.getLogger(__name__)


class Intake:
    """Polls the queues, and leases the shards that messages announce. `take` is for one thread."""

    def __init__(
        self,
        *,
        ledger: SystemLedger,
        queues: Queues,
        heartbeats: Heartbeats,
        drain: Drain,
        owner: str,
        lease_seconds: float,
        poll_seconds: float,
        on_lease: Callable[[LeasedShard, float], None] | None = None,
    ) -> None:
        """Begin without leases. `poll_seconds`: how long a poll waits on its last queue. `on_lease` gets each leased
        shard, and when its message came, in seconds of the epoch."""
        self._on_lease = on_lease
        self._ledger = ledger
        self._queues = queues
        self._heartbeats = heartbeats
        self._drain = drain
        self._owner = owner
        self._lease_seconds = lease_seconds
        self._poll_seconds = poll_seconds
        self._turn = 0
        self._refusals = Refusals()

    def refuse(self, job: Job) -> None:
        """Take no more shards of this job's model: the device cannot hold its batch."""
        self._refusals.add(job)

    def refuse_job(self, job: Job) -> None:
        """Take no more shards of this job: a newer release planned it."""
        self._refusals.add_job(job)

    def take(self) -> LeasedShard | HiddenMessage | None:
        """Poll the queues once. Return a leased shard, or the message about a model package to try, hidden from others;
        None if there is no work, or a drain was requested.

        It receives one message at a time: the visibility of prefetched ones would expire here (F-2).
        """
        order = order_queues(self._turn)
        self._turn += 1
        for queue in order:
            while not self._drain.requested:
                messages = self._queues.receive(
                    queue,
                    limit=1,
                    wait_seconds=self._poll_seconds if queue == order[-1] else 0,
                    visibility_seconds=math.ceil(self._lease_seconds),
                )
                if not messages:
                    break
                if parse_registration(messages[0]) is not None:
                    return HiddenMessage(self._queues, queue, messages[0], seconds=math.ceil(self._lease_seconds))
                leased = self._lease(queue, messages[0])
                if leased is not None:
                    return leased
                if self._is_refused(messages[0]):
                    break  # one a poll: while a message is put back, workers that could take it do not see it
        return None

    def _is_refused(self, message: QueueMessage) -> bool:
        wanted = _parse_shard(message)
        return wanted is not None and self._refusals.has_job(wanted[0])

    def let_go(self, leased: LeasedShard) -> None:
        """Stop the heartbeats: the lease is about to be settled."""
        self._heartbeats.remove(leased)
        self._drain.unfollow(leased.stop)

    def give_back(self, leased: LeasedShard) -> None:
        """Make the message visible to others at once."""
        try:
            self._queues.extend(leased.queue, leased.message.receipt, seconds=0)
        except LeaseLost:
            log.info("message was visible already", extra=leased.log_fields)

    def finish(self, leased: LeasedShard) -> None:
        """Delete the message: its work is settled."""
        self._queues.delete(leased.queue, leased.message.receipt)

    def _lease(self, queue: str, message: QueueMessage) -> LeasedShard | None:
        received = time.time()
        wanted = _parse_shard(message)
        if wanted is None:
            log.error("malformed message left for the dead-letter queue", extra={"queue": queue})
            return None
        job_id, index, schema = wanted
        if schema > MESSAGE_SCHEMA:
            log.warning("message of a newer schema left for a newer worker", extra={"queue": queue, "schema": schema})
            return None
        if self._refusals.has_job(job_id):
            return self._put_back(queue, message)
        answer = self._ledger.lease_shard(job_id, index, owner=self._owner, seconds=self._lease_seconds)
        if answer is LeaseRefusal.SETTLED:
            self._queues.delete(queue, message.receipt)
            return None
        if isinstance(answer, LeaseRefusal):
            return self._put_back(queue, message)
        if self._refusals.refuses(answer.job):
            self._ledger.release_shard(answer, reason=UnsuitableDevice.code, failed=False)
            return self._put_back(queue, message)
        traceparent = continue_trace(answer.job.traceparent)
        leased = LeasedShard(lease=answer, queue=queue, message=message, traceparent=traceparent)
        self._heartbeats.add(leased)
        self._drain.follow(leased.stop)
        if self._on_lease is not None:
            self._on_lease(leased, received)
        return leased

    def _put_back(self, queue: str, message: QueueMessage) -> None:
        """Return the message after one heartbeat: late enough that a duplicate does not reach the dead-letter queue
        while the shard is computed, soon enough to take over from a holder that died, or for a worker that can take
        it."""
        self._queues.extend(queue, message.receipt, seconds=math.ceil(self._lease_seconds / 3))


def _parse_shard(message: QueueMessage) -> tuple[UUID, int, int] | None:
    """Return job, shard and schema; None if the message has no meaning."""
    try:
        return UUID(message.body["job_id"]), int(message.body["shard"]), int(message.body["v"])
    except (AttributeError, KeyError, TypeError, ValueError):  # UUID(7) has no text to read
        return None
