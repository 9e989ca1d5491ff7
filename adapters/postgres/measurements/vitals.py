"""Vital signs that operators watch, counted in SQL."""

from __future__ import annotations

from adapters.postgres.connections import Transactions
from wsi.records.jobs import Priority
from wsi.records.operations.vitals import Vitals
from wsi.states import LIVE_JOB_STATES, JobState

_SUCCESSES = [state.value for state in JobState if state.is_success]

_READ = """
    WITH held AS (
        SELECT DISTINCT job_id FROM shards WHERE state = 'RUNNING'
    ), live AS (
        SELECT state, created_at, first_lease_at,
            state = 'RUNNING' AND id NOT IN (SELECT job_id FROM held) AS waits,
            updated_at < now() - make_interval(secs => %(stalled)s) AS still
        FROM jobs WHERE finished_at IS NULL
    ), ended AS (
        SELECT * FROM jobs WHERE finished_at > now() - make_interval(secs => %(seconds)s)
    ), begun AS (
        SELECT created_at, first_lease_at FROM live UNION ALL SELECT created_at, first_lease_at FROM ended
    )
    SELECT
        (SELECT coalesce(jsonb_object_agg(state, n), '{}')
            FROM (SELECT state, count(*) AS n FROM live GROUP BY state) AS counted) AS live,
        (SELECT coalesce(jsonb_object_agg(state, n), '{}')
            FROM (SELECT state, count(*) AS n FROM ended GROUP BY state) AS counted) AS finished,
        (SELECT count(*) FROM live WHERE waits) AS waiting,
        (SELECT count(*) FROM live WHERE still AND NOT (waits AND EXISTS (SELECT FROM held))) AS stalled,
        -- Revocations may be written for a later time.
        (SELECT greatest(0, extract(epoch FROM now() - min(created_at)))::float8 FROM outbox WHERE sent_at IS NULL)
            AS outbox_seconds,
        (SELECT coalesce(jsonb_object_agg(waits_in, seconds), '{}') FROM (
            SELECT waits_in, extract(epoch FROM now() - min(woken_at))::float8 AS seconds FROM shards
            WHERE waits_in IS NOT NULL AND state = 'QUEUED' GROUP BY waits_in
        ) AS lines) AS line_seconds,
        (SELECT coalesce(sum(tiles_inferred), 0)::bigint FROM ended) AS tiles,
        (SELECT count(*) FROM dead_letters WHERE settled_at IS NULL) AS dead_letters,
        (SELECT coalesce(array_agg(extract(epoch FROM first_lease_at - created_at)::float8), '{}') FROM begun
            WHERE first_lease_at > now() - make_interval(secs => %(seconds)s)) AS first_lease_seconds,
        (SELECT coalesce(array_agg(extract(epoch FROM finished_at - created_at)::float8), '{}') FROM ended
            WHERE state = ANY(%(successes)s)) AS result_seconds
"""


class PostgresVitals(Transactions):
    """The counts that operators watch."""

    def measure_vitals(self, *, seconds: float, stalled_seconds: float) -> Vitals:
        with self._transaction() as cursor:
            row = cursor.execute(
                _READ,
                {"seconds": seconds, "stalled": stalled_seconds, "successes": _SUCCESSES},
            ).fetchone()
            assert row is not None, "aggregates have a row"
            return Vitals(
                live={state: row["live"].get(state, 0) for state in LIVE_JOB_STATES},
                waiting=row["waiting"],
                stalled=row["stalled"],
                outbox_seconds=row["outbox_seconds"],
                line_seconds={priority: row["line_seconds"].get(priority, 0.0) for priority in Priority},
                finished={state: row["finished"].get(state, 0) for state in JobState if state.is_final},
                tiles=row["tiles"],
                first_lease_seconds=tuple(row["first_lease_seconds"]),
                result_seconds=tuple(row["result_seconds"]),
                dead_letters=row["dead_letters"],
            )
