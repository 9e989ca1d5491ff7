"""The queue as one job finds it: what is before it, how many workers are up, how fast its model is.

It counts over all tenants, and the API sees the rows of one. So a function of the owner counts, and tells numbers
alone. The owner sees no row of these tables either, except while `tessera.counts` is set, as in this function. (In the
function's own SET clause only superusers may name a parameter that is not known.)
"""

from __future__ import annotations

from alembic import op

revision = "0015"
down_revision = "0014"

#: In a SELECT, the setting is read once for a query and not for each row.
_POLICY = """
CREATE POLICY counts ON {table} FOR SELECT TO CURRENT_USER
USING ((SELECT current_setting('tessera.counts', true)) = 'on')
"""

_MEASURE = """
CREATE FUNCTION tessera.measure_queue(of_job uuid, idle_seconds double precision, most integer)
RETURNS TABLE (
    jobs_ahead bigint, tiles_ahead bigint, shards_ahead bigint, workers bigint, waiting_since timestamptz,
    tiles_per_second double precision
)
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('tessera.counts', 'on', true);
    RETURN QUERY
    WITH this AS MATERIALIZED (
        SELECT id, state, model, model_version, model_digest, priority, created_at, updated_at, first_lease_at
        FROM jobs WHERE id = of_job
    ), ahead AS (
        -- In the order of the index jobs_queue, so that it is the one that leads to them.
        SELECT found.* FROM this, unnest(CASE this.priority
            WHEN 'low' THEN ARRAY['high', 'normal', 'low'] WHEN 'normal' THEN ARRAY['high', 'normal']
            ELSE ARRAY['high'] END) AS served (priority),
        LATERAL (
            SELECT jobs.state, tiles_planned - tiles_inferred - tiles_unreadable AS tiles, shards_remaining,
                jobs.updated_at, jobs.first_lease_at
            FROM jobs
            WHERE finished_at IS NULL AND jobs.state <> 'STITCHING' AND jobs.priority = served.priority
                AND (jobs.created_at, jobs.id) < (CASE WHEN served.priority = this.priority THEN this.created_at
                    ELSE 'infinity' END, this.id)
            ORDER BY jobs.created_at, jobs.id LIMIT most
        ) AS found
        LIMIT most
    ), queue AS (
        SELECT count(*) AS jobs, coalesce(sum(tiles), 0)::bigint AS tiles,
            coalesce(sum(shards_remaining), 0)::bigint AS shards,
            min(updated_at) FILTER (WHERE state = 'RUNNING' AND first_lease_at IS NULL) AS since
        FROM ahead
    ), alike AS (
        SELECT recent.id FROM this, (
            SELECT id, model_digest FROM jobs WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 200
        ) AS recent
        WHERE recent.model_digest = this.model_digest LIMIT 20
    )
    SELECT queue.jobs, queue.tiles, queue.shards,
        greatest(
            (SELECT count(DISTINCT lease_owner) FROM shards WHERE state = 'RUNNING' AND lease_until > now()),
            (SELECT count(*) FROM (
                SELECT FROM jobs WHERE finished_at > now() - make_interval(secs => idle_seconds)
                    AND first_lease_at IS NOT NULL LIMIT 1
            ) AS recent)
        ),
        least(queue.since, (SELECT updated_at FROM this WHERE state = 'RUNNING' AND first_lease_at IS NULL)),
        coalesce(
            (SELECT avg(shards.tiles_per_second) FROM shards WHERE job_id IN (SELECT id FROM alike)),
            (SELECT (card ->> 'tiles_per_second')::double precision FROM model_versions, this
                WHERE model_versions.name = this.model AND model_versions.version = this.model_version)
        )
    FROM queue;
    PERFORM set_config('tessera.counts', '', true);
END $$;
REVOKE ALL ON FUNCTION tessera.measure_queue(uuid, double precision, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tessera.measure_queue(uuid, double precision, integer) TO tessera_api;
"""


def upgrade() -> None:
    for table in ("jobs", "shards"):
        op.execute(_POLICY.format(table=table))
    op.execute("CREATE INDEX jobs_queue ON jobs (priority, created_at, id) WHERE finished_at IS NULL")
    op.execute(_MEASURE)
