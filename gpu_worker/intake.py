"""Taking work: one message, one lease, at a time."""

from __future__ import annotations

import logging
import math
from uuid import UUID

from gpu_worker.drain import Drain
from gpu_worker.heartbeat import Heartbeats, Held
from gpu_worker.refusals import Refusals
from wsi.errors import LeaseLost, UnsuitableDevice
from wsi.ports.ledger import SystemLedger
from wsi.ports.queues import Queues
from wsi.records.jobs import Job, Priority
from wsi.records.notices import MESSAGE_SCHEMA, SHARD_QUEUES, QueueMessage
from wsi.records.shards import LeaseRefusal

log = logging.getLogger(__name__)

#: Every so many polls the low queue comes first, so that a steady stream of urgent work does not starve it.
LOW_FIRST_EVERY = 8
#: Seconds that the last queue of a poll is waited on. Short, since a message in the others waits that long too.
POLL_SECONDS = 1.0


def poll_order(turn: int) -> tuple[str, ...]:
    """The shard queues in the order of poll number `turn`, which counts from 0."""
    by_urgency = (Priority.HIGH, Priority.NORMAL, Priority.LOW)
    if turn % LOW_FIRST_EVERY == LOW_FIRST_EVERY - 1:
        by_urgency = (Priority.LOW, Priority.HIGH, Priority.NORMAL)
    return tuple(SHARD_QUEUES[priority] for priority in by_urgency)


class Intake:
    def __init__(
        self,
        *,
        ledger: SystemLedger,
        queues: Queues,
        heartbeats: Heartbeats,
        drain: Drain,
        owner: str,
        lease_seconds: float,
    ) -> None:
        self._ledger = ledger
        self._queues = queues
        self._heartbeats = heartbeats
        self._drain = drain
        self._owner = owner
        self._lease_seconds = lease_seconds
        self._turn = 0
        self._refusals = Refusals()

    def refuse(self, job: Job) -> None:
        """Takes no more shards of this job's model: the device can not hold its batch."""
        self._refusals.add(job)

    def take(self) -> Held | None:
        """One round over the queues. A message at a time: prefetched ones would run out of visibility in our hands
        (F-2). None: no work, or a drain was asked for."""
        order = poll_order(self._turn)
        self._turn += 1
        for queue in order:
            while not self._drain.requested:
                messages = self._queues.receive(
                    queue,
                    limit=1,
                    wait_seconds=POLL_SECONDS if queue == order[-1] else 0,
                    visibility_seconds=math.ceil(self._lease_seconds),
                )
                if not messages:
                    break
                held = self._lease(queue, messages[0])
                if held is not None:
                    return held
                if self._is_refused(messages[0]):
                    break  # one a poll: a message that is put back is hidden from workers that could take it
        return None

    def _is_refused(self, message: QueueMessage) -> bool:
        wanted = _shard_of(message)
        return wanted is not None and self._refusals.of_message(wanted[0])

    def let_go(self, held: Held) -> None:
        """No more heartbeats: the lease is about to be settled."""
        self._heartbeats.remove(held)
        self._drain.unfollow(held.stop)

    def give_back(self, held: Held) -> None:
        """The message becomes visible to others at once."""
        try:
            self._queues.extend(held.queue, held.message.receipt, seconds=0)
        except LeaseLost:
            log.info("message was visible already", extra=held.log_fields)

    def finish(self, held: Held) -> None:
        """The work is settled: the message goes."""
        self._queues.delete(held.queue, held.message.receipt)

    def _lease(self, queue: str, message: QueueMessage) -> Held | None:
        wanted = _shard_of(message)
        if wanted is None:
            log.error("malformed message left for the dead-letter queue", extra={"queue": queue})
            return None
        job_id, index, schema = wanted
        if schema > MESSAGE_SCHEMA:
            log.warning("message of a newer schema left for a newer worker", extra={"queue": queue, "schema": schema})
            return None
        if self._refusals.of_message(job_id):
            return self._put_back(queue, message)
        answer = self._ledger.lease_shard(job_id, index, owner=self._owner, seconds=self._lease_seconds)
        if answer is LeaseRefusal.SETTLED:
            self._queues.delete(queue, message.receipt)
            return None
        if isinstance(answer, LeaseRefusal):
            return self._put_back(queue, message)
        if self._refusals.of_lease(answer.job):
            self._ledger.release_shard(answer, reason=UnsuitableDevice.code, failed=False)
            return self._put_back(queue, message)
        held = Held(lease=answer, queue=queue, message=message)
        self._heartbeats.add(held)
        self._drain.follow(held.stop)
        return held

    def _put_back(self, queue: str, message: QueueMessage) -> None:
        """Back after one heartbeat: long enough that a duplicate does not reach the dead-letter queue within a shard's
        time, short enough to take over from a holder that died, or for a worker that can take what this one can not."""
        self._queues.extend(queue, message.receipt, seconds=math.ceil(self._lease_seconds / 3))


def _shard_of(message: QueueMessage) -> tuple[UUID, int, int] | None:
    """Job, shard and schema. None: the message means nothing."""
    try:
        return UUID(message.body["job_id"]), int(message.body["shard"]), int(message.body["v"])
    except (AttributeError, KeyError, TypeError, ValueError):  # UUID(7) has no text to read
        return None
