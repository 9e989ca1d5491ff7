"""A job says who asked for it and how long workers were at it.

Of people our tables knew only what their tokens say, an issuer and a subject; the address is added beside them. The
API reads neither people nor keys: a function of the owner tells it the names of its own tenant's.
"""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"

_COLUMNS = """
ALTER TABLE users ADD COLUMN email text;
COMMENT ON COLUMN users.email IS 'personal data: never logged; NULL: nobody said it when the person was added';

ALTER TABLE jobs ADD COLUMN worker_seconds double precision NOT NULL DEFAULT 0;
COMMENT ON COLUMN jobs.worker_seconds IS 'of the attempts that finished its shards, one after the other';

CREATE INDEX jobs_of_one ON jobs (tenant, created_by, created_at DESC, id DESC);
"""

_NAMES = """
CREATE FUNCTION tessera.names_of(subjects text[])
RETURNS TABLE (subject text, name text)
STABLE SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE sql AS $$
    SELECT 'user:' || users.id, users.email
    FROM users
    WHERE users.tenant = tessera.tenant() AND users.email IS NOT NULL
        AND users.id = ANY (
            SELECT split_part(one, ':', 2)::uuid FROM unnest(subjects) AS one WHERE one ~ '^user:[0-9a-f-]{36}$'
        )
    UNION ALL
    SELECT 'key:' || api_keys.id, api_keys.name
    FROM api_keys
    WHERE api_keys.tenant = tessera.tenant()
        AND api_keys.id = ANY (
            SELECT split_part(one, ':', 2)::uuid FROM unnest(subjects) AS one WHERE one ~ '^key:[0-9a-f-]{36}$'
        )
$$;
REVOKE ALL ON FUNCTION tessera.names_of(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tessera.names_of(text[]) TO tessera_api;
"""


def upgrade() -> None:
    op.execute(_COLUMNS)
    op.execute(_NAMES)
