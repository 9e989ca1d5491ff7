"""Usage by model and requester with budgets, dead letters, and one computation for equal jobs.

The release before counts in `usage` alone. The new table divides the same sums, so what it leaves open is work that a
worker of that release counted.
"""

from __future__ import annotations

from alembic import op

revision = "0022"
down_revision = "0021"

API, SYSTEM = "tessera_api", "tessera_system"

_EQUAL_JOBS = """
CREATE INDEX jobs_live_equal ON jobs (tenant, identity) WHERE finished_at IS NULL;
ALTER TABLE idempotency_keys ADD COLUMN shared boolean NOT NULL DEFAULT false;

CREATE TABLE job_followers (
    job_id     uuid NOT NULL REFERENCES jobs,
    tenant     uuid NOT NULL REFERENCES tenants,
    channel    text NOT NULL CHECK (channel IN ('email', 'webhook')),
    target     text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job_id, channel, target)
);
COMMENT ON TABLE job_followers IS 'who asked for a job that was under way already, and is told of its end too';
COMMENT ON COLUMN job_followers.target IS 'personal data: never logged';
"""

_USAGE = """
CREATE TABLE usage_details (
    tenant         uuid NOT NULL REFERENCES tenants,
    day            date NOT NULL,
    model          text NOT NULL,
    model_version  text NOT NULL,
    requester      text NOT NULL,
    tiles          bigint NOT NULL,
    worker_seconds double precision NOT NULL,
    PRIMARY KEY (tenant, day, model, model_version, requester)
);
COMMENT ON COLUMN usage_details.requester IS 'user:… or key:…, never a name';

ALTER TABLE quotas ADD COLUMN dollars_a_month double precision CHECK (dollars_a_month >= 0),
    ADD COLUMN stops_at_budget boolean;

CREATE TABLE budget_notices (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant       uuid NOT NULL REFERENCES tenants,
    month        date NOT NULL,
    percent      integer NOT NULL CHECK (percent IN (80, 100)),
    target       text NOT NULL,
    attempt      integer NOT NULL DEFAULT 0,
    error        text,
    due_at       timestamptz DEFAULT now(),
    woken_at     timestamptz,
    delivered_at timestamptz,
    UNIQUE (tenant, month, percent, target),
    CHECK (delivered_at IS NULL OR due_at IS NULL)
);
COMMENT ON COLUMN budget_notices.target IS 'personal data: never logged';
CREATE INDEX budget_notices_due ON budget_notices (due_at) WHERE due_at IS NOT NULL;
"""

#: The sweep learns whom to tell, and reads neither people nor keys.
_ADMINS = f"""
CREATE FUNCTION tessera.admins_of(of_tenant uuid)
RETURNS TABLE (email text)
STABLE SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE sql AS $$
    SELECT DISTINCT users.email FROM users
    WHERE users.tenant = of_tenant AND users.role = 'admin' AND users.email IS NOT NULL AND users.disabled_at IS NULL
$$;
REVOKE ALL ON FUNCTION tessera.admins_of(uuid) FROM PUBLIC;
GRANT USAGE ON SCHEMA tessera TO {SYSTEM};
GRANT EXECUTE ON FUNCTION tessera.admins_of(uuid) TO {SYSTEM};
CREATE POLICY system ON quotas FOR SELECT TO {SYSTEM} USING (true);
GRANT SELECT ON quotas TO {SYSTEM};
"""

#: Operators' alone: a message that cannot be read belongs to no tenant that anybody knows.
_DEAD_LETTERS = f"""
CREATE TABLE dead_letters (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id  text NOT NULL UNIQUE,
    queue       text NOT NULL,
    body        text NOT NULL,
    receives    integer NOT NULL,
    outcome     text NOT NULL,
    sent_at     timestamptz,
    arrived_at  timestamptz NOT NULL DEFAULT now(),
    settled_at  timestamptz,
    redrive     text
);
COMMENT ON COLUMN dead_letters.outcome IS 'what its arrival did';
COMMENT ON COLUMN dead_letters.redrive IS 'what redriving it did, or that nobody need';
CREATE INDEX dead_letters_open ON dead_letters (id) WHERE settled_at IS NULL;
ALTER TABLE dead_letters ENABLE ROW LEVEL SECURITY;
ALTER TABLE dead_letters FORCE ROW LEVEL SECURITY;
CREATE POLICY system ON dead_letters TO {SYSTEM} USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON dead_letters TO {SYSTEM};
-- The retry of a job that a dead letter ended.
GRANT INSERT ON jobs TO {SYSTEM};
"""

#: table -> (what the API may do, what workers and sweep may do)
_GRANTS = {
    "job_followers": ("SELECT, INSERT, DELETE", "SELECT, INSERT, DELETE"),
    "usage_details": ("SELECT", "SELECT, INSERT, UPDATE"),
    "budget_notices": ("", "SELECT, INSERT, UPDATE"),
}


def upgrade() -> None:
    op.execute(_EQUAL_JOBS)
    op.execute(_USAGE)
    for table, (api, system) in _GRANTS.items():
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY; ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"GRANT {system} ON {table} TO {SYSTEM}")
        op.execute(f"CREATE POLICY system ON {table} TO {SYSTEM} USING (true) WITH CHECK (true)")
        if api:
            op.execute(f"GRANT {api} ON {table} TO {API}")
            op.execute(
                f"CREATE POLICY tenant ON {table} TO {API} USING (tenant = (SELECT tessera.tenant()))"
                f" WITH CHECK (tenant = (SELECT tessera.tenant()))"
            )
    op.execute(_ADMINS)
    op.execute(_DEAD_LETTERS)
