"""Sources: where a tenant's slides by reference may lie. The database itself refuses a file that lies elsewhere.

The address of an upload holds the id of its slide; that of an object in a customer's bucket cannot. The API changes no
address; workers do, after de-identification, and the owner after a loss.
"""

from __future__ import annotations

from alembic import op

revision = "0019"
down_revision = "0018"

API = "tessera_api"
SYSTEM = "tessera_system"

_SOURCES = rf"""
CREATE TABLE sources (
    tenant   uuid NOT NULL REFERENCES tenants,
    bucket   text NOT NULL CHECK (bucket ~ '^[a-z0-9][a-z0-9.-]{{1,61}}[a-z0-9]$'),
    prefix   text NOT NULL CHECK (
        prefix = '' OR length(prefix) <= 256 AND prefix ~ '^[ -~]+/$' AND prefix !~ '["$*?\\]'
            AND rtrim(prefix, '/') || '/' = prefix AND rtrim(prefix, '/') !~ '(^|/)\.{{0,2}}(/|$)'
    ),
    added_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, bucket, prefix)
);
COMMENT ON COLUMN sources.prefix IS 'of keys: ends with a slash; empty: the whole bucket';

ALTER TABLE sources ENABLE ROW LEVEL SECURITY;
ALTER TABLE sources FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON sources FOR SELECT TO {API} USING (tenant = (SELECT tessera.tenant()));
CREATE POLICY system ON sources FOR SELECT TO {SYSTEM} USING (true);
CREATE POLICY administration ON sources TO CURRENT_USER USING (true) WITH CHECK (true);
GRANT SELECT ON sources TO {API}, {SYSTEM};

CREATE FUNCTION tessera.covers(bucket text, prefix text, uri text) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$
    SELECT starts_with(uri, 's3://' || bucket || '/' || prefix)
        AND substr(uri, length('s3://' || bucket || '/') + 1) !~ '(^|/)\.{{0,2}}(/|$)'
        AND uri !~ '[\u0001-\u001f\u007f]'
$$;
COMMENT ON FUNCTION tessera.covers IS 'compares text as it is: no decoding, no folding, no normalising';

CREATE FUNCTION tessera.refuse_outside_sources() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF strpos(NEW.uri, '/' || NEW.slide_id || '/') = 0 AND NOT EXISTS (
        SELECT FROM public.sources
        WHERE sources.tenant = NEW.tenant AND tessera.covers(sources.bucket, sources.prefix, NEW.uri)
    ) THEN
        RAISE EXCEPTION 'no source of the tenant covers this file'
            USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'within_sources';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER within_sources BEFORE INSERT ON slide_files
FOR EACH ROW EXECUTE FUNCTION tessera.refuse_outside_sources();
CREATE TRIGGER moved_within_sources BEFORE UPDATE ON slide_files FOR EACH ROW
WHEN (
    current_user = '{API}'
    AND NEW.uri <> ''  -- erased
    AND (OLD.tenant, OLD.slide_id, OLD.uri) IS DISTINCT FROM (NEW.tenant, NEW.slide_id, NEW.uri)
)
EXECUTE FUNCTION tessera.refuse_outside_sources();

REVOKE ALL ON FUNCTION tessera.covers, tessera.refuse_outside_sources FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tessera.covers TO {API};
"""


def upgrade() -> None:
    op.execute(_SOURCES)
