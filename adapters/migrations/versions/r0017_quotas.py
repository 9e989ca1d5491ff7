"""Quotas: what a tenant may use and ask for. One row has no tenant: it holds for tenants without a value of their own.

Jobs say how many tiles they will have before they are planned, so that the day's tiles are known when they are asked
for. Jobs of the release before say 0 until they are planned.
"""

from __future__ import annotations

from alembic import op

revision = "0017"
down_revision = "0016"

API = "tessera_api"

_QUOTAS = f"""
CREATE TABLE quotas (
    tenant       uuid UNIQUE REFERENCES tenants,
    tiles_a_day  bigint CHECK (tiles_a_day >= 0),
    bytes_stored bigint CHECK (bytes_stored >= 0),
    uploads_open integer CHECK (uploads_open >= 0),
    jobs_waiting integer CHECK (jobs_waiting >= 0),
    top_priority text CHECK (top_priority IN ('high', 'normal', 'low'))
);
COMMENT ON COLUMN quotas.tenant IS 'NULL: for tenants without a value of their own';
CREATE UNIQUE INDEX quotas_of_all ON quotas ((tenant IS NULL)) WHERE tenant IS NULL;

ALTER TABLE quotas ENABLE ROW LEVEL SECURITY;
ALTER TABLE quotas FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON quotas FOR SELECT TO {API}
    USING (tenant = (SELECT tessera.tenant()) OR tenant IS NULL AND (SELECT tessera.tenant()) IS NOT NULL);
CREATE POLICY administration ON quotas TO CURRENT_USER USING (true) WITH CHECK (true);
GRANT SELECT ON quotas TO {API};

ALTER TABLE jobs ADD COLUMN tiles_expected bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN jobs.tiles_expected IS 'an estimate from when it was asked for; the plan says how many they are';
CREATE INDEX jobs_not_begun ON jobs (tenant) WHERE finished_at IS NULL AND first_lease_at IS NULL;
CREATE INDEX slides_open ON slides (tenant) WHERE state = 'UPLOADING';
"""


def upgrade() -> None:
    op.execute(_QUOTAS)
