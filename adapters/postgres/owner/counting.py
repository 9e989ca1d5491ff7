"""The numbers of all records, for the comparison of an installation before and after a restore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.postgres.connections import Cursor

#: States that a recovery leaves alone; live jobs are planned again, and unfinished uploads are dropped.
_BY_STATE = {
    "jobs": "CASE WHEN finished_at IS NULL THEN 'LIVE' ELSE state END",
    "slides": "state",
    "model_registrations": "state",
}

_SUMS = """
    SELECT (SELECT count(*) FROM slide_files) AS slide_files,
        (SELECT coalesce(sum(size), 0)::bigint FROM slide_files) AS slide_bytes,
        (SELECT count(*) FROM results) AS results,
        (SELECT coalesce(sum(size), 0)::bigint FROM results) AS result_bytes
"""
#: What a record is: ids, digests and pins, never a place, a state or a name.
_LINES = """
    SELECT encode(sha256(convert_to(coalesce(string_agg(line, E'\\n' ORDER BY line COLLATE "C"), ''), 'UTF8')), 'hex')
        AS digest
    FROM (
        SELECT concat_ws(' ', 'slide', id, tenant, digest) FROM slides
        UNION ALL SELECT concat_ws(' ', 'file', slide_id, position, size) FROM slide_files
        UNION ALL SELECT concat_ws(' ', 'job', id, tenant, slide_id, model_digest, identity) FROM jobs
        UNION ALL SELECT concat_ws(' ', 'result', job_id, name, key, size, sha256) FROM results
        UNION ALL SELECT concat_ws(' ', 'model', name, version, digest) FROM model_versions
    ) AS lines (line)
"""


def count_records(cursor: Cursor) -> Mapping[str, Any]:
    """Return the counts by table, those of slides, jobs and registrations by state, and `digest`."""
    counts: dict[str, Any] = {}
    for table, state in _BY_STATE.items():
        found = cursor.execute(f"SELECT {state} AS state, count(*) AS n FROM {table} GROUP BY 1 ORDER BY 1".encode())
        counts[table] = {row["state"]: row["n"] for row in found}
    for query in (_SUMS, _LINES):
        row = cursor.execute(query).fetchone()
        assert row is not None, "an aggregate has a row"
        counts |= row
    return counts
