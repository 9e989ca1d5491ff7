"""Access: roles, grants by need, row-level security by tenant, append-only history."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

API = "tessera_api"
SYSTEM = "tessera_system"

#: role -> (statement, lock, idle in transaction). Set on the role: a SET from the client would pin the proxy (F-51).
_TIMEOUTS = {API: ("10s", "5s", "15s"), SYSTEM: ("60s", "10s", "60s")}

_TENANT_TABLES = (
    *("slides", "slide_files", "jobs", "idempotency_keys", "shards", "job_events", "results"),
    *("outbox", "webhook_deliveries", "audit_log", "usage"),
)
_IDENTITY_TABLES = ("tenants", "users", "api_keys")

#: table -> (what the API may do, what workers, relay and sweep may do)
_GRANTS = {
    "slides": ("SELECT, INSERT, UPDATE", "SELECT, UPDATE"),
    "slide_files": ("SELECT, INSERT, UPDATE", "SELECT"),
    "models": ("SELECT", "SELECT, INSERT, UPDATE"),
    "model_versions": ("SELECT", "SELECT, INSERT, UPDATE"),
    "jobs": ("SELECT, INSERT, UPDATE", "SELECT, UPDATE"),
    "idempotency_keys": ("SELECT, INSERT, UPDATE", ""),
    "shards": ("SELECT, UPDATE", "SELECT, INSERT, UPDATE"),
    "job_events": ("SELECT, INSERT", "SELECT, INSERT"),
    "results": ("SELECT", "SELECT, INSERT"),
    "outbox": ("INSERT", "SELECT, INSERT, UPDATE, DELETE"),
    "webhook_deliveries": ("SELECT", "SELECT, INSERT, UPDATE"),
    "audit_log": ("SELECT, INSERT", "INSERT"),
    "usage": ("SELECT", "SELECT, INSERT, UPDATE"),
}

_TENANCY = """
CREATE SCHEMA tessera;

CREATE FUNCTION tessera.enter(tenant uuid) RETURNS void LANGUAGE sql AS
$$ SELECT set_config('tessera.tenant', tenant::text, true) $$;
COMMENT ON FUNCTION tessera.enter IS 'first statement of each transaction of the API: whose rows exist until its end';

CREATE FUNCTION tessera.tenant() RETURNS uuid STABLE LANGUAGE sql AS
$$ SELECT nullif(current_setting('tessera.tenant', true), '')::uuid $$;
"""

# These two run as the owner: the API learns who somebody is, yet reads neither users nor hashes.
_IDENTIFICATION = """
CREATE FUNCTION tessera.identify_user(of_issuer text, of_subject text)
RETURNS TABLE (tenant uuid, subject text, role text)
STABLE SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE sql AS $$
    SELECT users.tenant, 'user:' || users.id, users.role
    FROM users
    WHERE users.issuer = of_issuer AND users.subject = of_subject AND disabled_at IS NULL
$$;

CREATE FUNCTION tessera.identify_api_key(of_prefix text, of_secret_sha256 text)
RETURNS TABLE (tenant uuid, subject text, role text)
STABLE SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE sql AS $$
    SELECT api_keys.tenant, 'key:' || api_keys.id, api_keys.role
    FROM api_keys
    WHERE prefix = of_prefix AND secret_sha256 = of_secret_sha256 AND revoked_at IS NULL
$$;
"""

_APPEND_ONLY = """
CREATE FUNCTION tessera.refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege'; END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON job_events
FOR EACH STATEMENT EXECUTE FUNCTION tessera.refuse();

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
FOR EACH STATEMENT EXECUTE FUNCTION tessera.refuse();
"""


def upgrade() -> None:
    for role, (statement, lock, idle) in _TIMEOUTS.items():
        op.execute(
            f"DO $$ BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
            f"ALTER ROLE {role} SET statement_timeout = '{statement}';"
            f"ALTER ROLE {role} SET lock_timeout = '{lock}';"
            f"ALTER ROLE {role} SET idle_in_transaction_session_timeout = '{idle}';"
        )
    op.execute(_TENANCY)
    op.execute(_IDENTIFICATION)
    op.execute(_APPEND_ONLY)
    op.execute(f"GRANT USAGE ON SCHEMA public, tessera TO {API}, {SYSTEM}")
    op.execute("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA tessera FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA tessera TO {API}")
    for table, (api, system) in _GRANTS.items():
        op.execute(f"GRANT {api} ON {table} TO {API}")
        if system:
            op.execute(f"GRANT {system} ON {table} TO {SYSTEM}")
    for table in _TENANT_TABLES:
        _force_row_security(table)
        op.execute(
            f"CREATE POLICY tenant ON {table} TO {API} USING (tenant = (SELECT tessera.tenant()))"
            f" WITH CHECK (tenant = (SELECT tessera.tenant()));"
            f"CREATE POLICY system ON {table} TO {SYSTEM} USING (true) WITH CHECK (true)"
        )
    for table in _IDENTITY_TABLES:
        _force_row_security(table)
        # The owner seeds these and identifies callers; of the tables above it sees nothing either.
        op.execute(f"CREATE POLICY administration ON {table} TO CURRENT_USER USING (true) WITH CHECK (true)")


def _force_row_security(table: str) -> None:
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY; ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
