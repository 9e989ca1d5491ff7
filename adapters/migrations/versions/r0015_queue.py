"""The queue as one job finds it: what is before it, how many workers are up, how fast its model is.

It counts over all tenants, and the API sees the rows of one. So a function of the owner counts, and tells numbers
alone. The owner sees no row of these tables either, except while `tessera.counts` is set, as in this function. (In the
function's own SET clause only superusers may name a parameter that is not known.)
"""

from __future__ import annotations

from alembic import op

revision = "0015"
down_revision = "0014"

_POLICY = """
CREATE POLICY counts ON {table} FOR SELECT TO CURRENT_USER USING (current_setting('tessera.counts', true) = 'on')
"""

_MEASURE = """
CREATE FUNCTION tessera.measure_queue(of_job uuid, idle_seconds double precision)
RETURNS TABLE (
    jobs_ahead bigint, tiles_ahead bigint, shards_ahead bigint, workers bigint, waiting_since timestamptz,
    tiles_per_second double precision
)
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('tessera.counts', 'on', true);
    RETURN QUERY WITH this AS (
        SELECT *, array_position(ARRAY['high', 'normal', 'low'], priority) AS rank FROM jobs WHERE id = of_job
    ), ahead AS (
        SELECT jobs.* FROM jobs, this
        WHERE jobs.finished_at IS NULL AND jobs.state <> 'STITCHING'
            AND (array_position(ARRAY['high', 'normal', 'low'], jobs.priority), jobs.created_at, jobs.id)
                < (this.rank, this.created_at, this.id)
    ), alike AS (
        SELECT recent.id FROM this, (
            SELECT id, model_digest FROM jobs WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 200
        ) AS recent
        WHERE recent.model_digest = this.model_digest LIMIT 20
    )
    SELECT
        (SELECT count(*) FROM ahead),
        (SELECT coalesce(sum(tiles_planned - tiles_inferred - tiles_unreadable), 0)::bigint FROM ahead),
        (SELECT coalesce(sum(shards_remaining), 0)::bigint FROM ahead),
        greatest(
            (SELECT count(DISTINCT lease_owner) FROM shards WHERE state = 'RUNNING' AND lease_until > now()),
            (SELECT count(*) FROM (
                SELECT FROM jobs WHERE finished_at > now() - make_interval(secs => idle_seconds)
                    AND first_lease_at IS NOT NULL LIMIT 1
            ) AS recent)
        ),
        (SELECT min(updated_at) FROM (SELECT state, first_lease_at, updated_at FROM ahead
            UNION ALL SELECT state, first_lease_at, updated_at FROM this) AS unbegun
            WHERE state = 'RUNNING' AND first_lease_at IS NULL),
        coalesce(
            (SELECT avg(shards.tiles_per_second) FROM shards WHERE job_id IN (SELECT id FROM alike)),
            (SELECT (card ->> 'tiles_per_second')::double precision FROM model_versions, this
                WHERE model_versions.name = this.model AND model_versions.version = this.model_version)
        );
    PERFORM set_config('tessera.counts', '', true);
END $$;
REVOKE ALL ON FUNCTION tessera.measure_queue(uuid, double precision) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tessera.measure_queue(uuid, double precision) TO tessera_api;
"""


def upgrade() -> None:
    for table in ("jobs", "shards"):
        op.execute(_POLICY.format(table=table))
    op.execute(_MEASURE)
