"""The state of the queue, for the expected start of a job."""

from __future__ import annotations

from uuid import UUID

from adapters.postgres.connections import Transactions
from adapters.settings.scaling import IDLE_SECONDS
from wsi.records.expectations import MOST_JOBS_AHEAD, QueueState


class PostgresQueueState(Transactions):
    """The counts that a job's expected start is estimated from."""

    def measure_queue(self, job_id: UUID) -> QueueState:
        with self._transaction() as cursor:
            row = cursor.execute(
                "SELECT * FROM tessera.measure_queue(%s, %s, %s)", (job_id, IDLE_SECONDS, MOST_JOBS_AHEAD)
            ).fetchone()
            assert row is not None, "aggregates have a row"
            return QueueState(**row)
