"""Model packages that an admin uploads and a worker tries before they become model versions."""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"

API = "tessera_api"
SYSTEM = "tessera_system"

_STATES = "'UPLOADING', 'CHECKING', 'READY', 'REJECTED'"

_TABLE = f"""
CREATE TABLE model_registrations (
    id              uuid NOT NULL UNIQUE,
    tenant          uuid NOT NULL REFERENCES tenants,
    name            text NOT NULL,
    version         text NOT NULL,
    state           text NOT NULL CHECK (state IN ({_STATES})),
    files           jsonb NOT NULL,
    becomes_default boolean NOT NULL,
    tries           integer NOT NULL DEFAULT 0,
    reason          text,
    sentence        text,
    measured        jsonb,
    created_by      text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    woken_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (name, version)
);
COMMENT ON COLUMN model_registrations.id IS 'of these files: another package under the same version has another';
COMMENT ON COLUMN model_registrations.tries IS 'that workers began';

ALTER TABLE model_registrations ENABLE ROW LEVEL SECURITY;
ALTER TABLE model_registrations FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON model_registrations TO {API}
    USING (tenant = (SELECT tessera.tenant())) WITH CHECK (tenant = (SELECT tessera.tenant()));
CREATE POLICY system ON model_registrations TO {SYSTEM} USING (true) WITH CHECK (true);

GRANT SELECT, INSERT, UPDATE ON model_registrations TO {API};
GRANT SELECT, UPDATE ON model_registrations TO {SYSTEM};
GRANT UPDATE (is_default) ON model_versions TO {API};
"""


def upgrade() -> None:
    op.execute(_TABLE)
