"""Notices of a job's end: who asked for them, what came of each, and what webhooks are signed with.

`webhook_deliveries` goes: nothing ever wrote to it, and one table holds mails and webhooks alike.
"""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"

_TABLES = """
ALTER TABLE jobs ADD COLUMN notify_email text, ADD COLUMN notify_webhook text;
COMMENT ON COLUMN jobs.notify_email IS 'personal data: never logged';

DROP TABLE webhook_deliveries;

CREATE TABLE deliveries (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant       uuid NOT NULL REFERENCES tenants,
    job_id       uuid NOT NULL REFERENCES jobs,
    job_version  integer NOT NULL,
    channel      text NOT NULL CHECK (channel IN ('email', 'webhook')),
    target       text NOT NULL,
    attempt      integer NOT NULL DEFAULT 0,
    status       integer,
    error        text,
    due_at       timestamptz DEFAULT now(),
    woken_at     timestamptz DEFAULT now(),
    delivered_at timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (job_id, job_version, channel, target),
    CHECK (delivered_at IS NULL OR due_at IS NULL)
);
COMMENT ON COLUMN deliveries.target IS 'personal data: never logged';
COMMENT ON COLUMN deliveries.due_at IS 'of the next try; NULL once delivered or given up';
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE webhook_secrets (
    tenant     uuid PRIMARY KEY REFERENCES tenants,
    secret     text NOT NULL,
    previous   text,
    rotated_at timestamptz NOT NULL DEFAULT now()
);
"""

#: table -> (what the API may do, what notify and the sweep may do)
_GRANTS = {
    "deliveries": ("SELECT", "SELECT, INSERT, UPDATE"),
    "webhook_secrets": ("SELECT, INSERT, UPDATE", "SELECT, INSERT"),
}


def upgrade() -> None:
    op.execute(_TABLES)
    for table, (api, system) in _GRANTS.items():
        op.execute(f"GRANT {api} ON {table} TO tessera_api")
        op.execute(f"GRANT {system} ON {table} TO tessera_system")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY; ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY tenant ON {table} TO tessera_api USING (tenant = (SELECT tessera.tenant()))"
            f" WITH CHECK (tenant = (SELECT tessera.tenant()));"
            f"CREATE POLICY system ON {table} TO tessera_system USING (true) WITH CHECK (true)"
        )
