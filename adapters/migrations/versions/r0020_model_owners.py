"""Models have owners: a tenant, or NULL for the installation.

`name` becomes a key: the installation's models have their name, a tenant's have "<tenant>/<name>". So two tenants may
have models of one name, the keys of before hold, and processes of the last release find the model that a job names.
Versions that tenants' admins had added go to the tenant that added them; they keep their keys, which jobs refer to.
"""

from __future__ import annotations

from alembic import op

revision = "0020"
down_revision = "0019"

API = "tessera_api"
SYSTEM = "tessera_system"

_COLUMNS = """
ALTER TABLE model_versions
    ADD COLUMN owner uuid REFERENCES tenants,
    ADD COLUMN given_name text NOT NULL GENERATED ALWAYS AS (regexp_replace(name, '^[0-9a-f-]{36}/', '')) STORED,
    ADD COLUMN known_to_last_release boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN model_versions.name IS 'a key: the name, of a tenant''s model "<tenant>/<name>"';
COMMENT ON COLUMN model_versions.owner IS 'NULL: the installation';
COMMENT ON COLUMN model_versions.known_to_last_release IS
    'transactions without a tenant may read it: functions of the last release read models so';

DROP INDEX model_versions_one_default;
ALTER TABLE model_registrations DROP CONSTRAINT model_registrations_pkey;
ALTER TABLE model_registrations ADD PRIMARY KEY (tenant, name, version);
"""

# The owner of the tables sees no registration otherwise: they belong to tenants.
_OWNERS_OF_BEFORE = """
ALTER TABLE model_registrations NO FORCE ROW LEVEL SECURITY;
UPDATE model_versions SET owner = model_registrations.tenant, known_to_last_release = true
FROM model_registrations
WHERE model_registrations.name = model_versions.name AND model_registrations.version = model_versions.version
    AND package_uri LIKE '%/packages/' || model_registrations.id || '/';
ALTER TABLE model_registrations FORCE ROW LEVEL SECURITY;

UPDATE model_versions SET is_default = true
FROM (
    SELECT DISTINCT ON (owner, given_name) name, version,
        bool_or(is_default) OVER (PARTITION BY owner, given_name) AS has
    FROM model_versions ORDER BY owner, given_name, created_at DESC, version DESC
) AS newest
WHERE newest.name = model_versions.name AND newest.version = model_versions.version AND NOT newest.has;

CREATE UNIQUE INDEX model_versions_of_owner ON model_versions (owner, given_name, version) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX model_versions_default_of_owner ON model_versions (owner, given_name) NULLS NOT DISTINCT
    WHERE is_default;
"""

# The API names no model by itself, so of `models` it sees what it sees versions of.
_ACCESS = f"""
ALTER TABLE models ENABLE ROW LEVEL SECURITY;
ALTER TABLE models FORCE ROW LEVEL SECURITY;
ALTER TABLE model_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE model_versions FORCE ROW LEVEL SECURITY;
CREATE POLICY readable ON model_versions FOR SELECT TO {API} USING (
    owner IS NULL OR owner = (SELECT tessera.tenant())
    OR known_to_last_release AND (SELECT tessera.tenant()) IS NULL
);
CREATE POLICY own ON model_versions FOR UPDATE TO {API}
    USING (owner = (SELECT tessera.tenant())) WITH CHECK (owner = (SELECT tessera.tenant()));
CREATE POLICY readable ON models FOR SELECT TO {API}
    USING (EXISTS (SELECT FROM model_versions WHERE model_versions.name = models.name));
"""
_ALL_ROWS = """
CREATE POLICY system ON {table} TO {system} USING (true) WITH CHECK (true);
CREATE POLICY administration ON {table} TO CURRENT_USER USING (true) WITH CHECK (true);
"""

# A foreign key cannot say this: the owner may be NULL. The error is that of a foreign key, as for a model that does not
# exist, so that nobody learns of another tenant's.
_JOBS = """
CREATE FUNCTION tessera.check_model_of_job() RETURNS trigger
SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM model_versions
        WHERE name = NEW.model AND version = NEW.model_version AND (owner IS NULL OR owner = NEW.tenant)
    ) THEN
        RAISE EXCEPTION 'the tenant has no such model' USING ERRCODE = 'foreign_key_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION tessera.check_model_of_job() FROM PUBLIC;
CREATE TRIGGER model_of_tenant BEFORE INSERT OR UPDATE OF model, model_version, tenant ON jobs
FOR EACH ROW EXECUTE FUNCTION tessera.check_model_of_job();
"""

# A worker of the last release adds a version without an owner. Whose package it is says its registration.
_PACKAGES = """
CREATE FUNCTION tessera.assign_package() RETURNS trigger
SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
DECLARE
    given text := NEW.name;
    registered record;
BEGIN
    SELECT tenant, becomes_default INTO registered FROM model_registrations
    WHERE id::text = substring(NEW.package_uri FROM '/packages/(?:[0-9a-f-]{36}/)?([0-9a-f-]{36})/$');
    IF NOT FOUND THEN
        RETURN NEW;
    END IF;
    NEW.owner := registered.tenant;
    NEW.name := registered.tenant || '/' || given;
    NEW.known_to_last_release := true;
    NEW.is_default := registered.becomes_default OR NOT EXISTS (
        SELECT FROM model_versions WHERE owner = registered.tenant AND given_name = given
    );
    IF NEW.is_default THEN
        UPDATE model_versions SET is_default = false
        WHERE owner = registered.tenant AND given_name = given AND is_default;
    END IF;
    INSERT INTO models (name) VALUES (NEW.name) ON CONFLICT DO NOTHING;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION tessera.assign_package() FROM PUBLIC;
CREATE TRIGGER owner_of_package BEFORE INSERT ON model_versions
FOR EACH ROW WHEN (NEW.owner IS NULL) EXECUTE FUNCTION tessera.assign_package();
"""


def upgrade() -> None:
    op.execute(_COLUMNS)
    op.execute(_OWNERS_OF_BEFORE)
    op.execute(_ACCESS)
    for table in ("models", "model_versions"):
        op.execute(_ALL_ROWS.format(table=table, system=SYSTEM))
    op.execute(_JOBS)
    op.execute(_PACKAGES)
