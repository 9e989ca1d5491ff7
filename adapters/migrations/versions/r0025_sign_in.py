"""Sign-in: whoever loses access is named in the outbox, in the same transaction."""

from __future__ import annotations

from alembic import op

revision = "0025"
down_revision = "0018"

# Triggers, so that no way of taking access away forgets it. They run as the owner, whoever fires them. Each revocation
# is sent twice: AppSync can miss a subscription that begins in the same moment, as it misses updates (F-32).
_REVOCATIONS = """
CREATE FUNCTION tessera.announce_revocation(of_tenant uuid, of_subject text) RETURNS void
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE sql AS $$
    INSERT INTO outbox (tenant, topic, body, traceparent, claimed_until)
    SELECT of_tenant, 'revocation', jsonb_build_object('tenant', of_tenant, 'subject', of_subject),
        '00-' || replace(gen_random_uuid()::text, '-', '') || '-'
            || left(replace(gen_random_uuid()::text, '-', ''), 16) || '-00',
        clock_timestamp() + waits
    FROM unnest(ARRAY[interval '0 seconds', interval '5 seconds']) AS waits
$$;
COMMENT ON FUNCTION tessera.announce_revocation IS
    'ends the open subscriptions of "user:<uuid>", of "key:<uuid>", or with "*" of all of the tenant';

CREATE FUNCTION tessera.announce_user() RETURNS trigger
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
BEGIN PERFORM tessera.announce_revocation(OLD.tenant, 'user:' || OLD.id); RETURN NULL; END $$;

CREATE FUNCTION tessera.announce_api_key() RETURNS trigger
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
BEGIN PERFORM tessera.announce_revocation(OLD.tenant, 'key:' || OLD.id); RETURN NULL; END $$;

CREATE TRIGGER revoked AFTER UPDATE ON users FOR EACH ROW
WHEN (OLD.disabled_at IS NULL AND (
    NEW.disabled_at IS NOT NULL
    OR (OLD.tenant, OLD.role, OLD.issuer, OLD.subject) IS DISTINCT FROM (NEW.tenant, NEW.role, NEW.issuer, NEW.subject)
)) EXECUTE FUNCTION tessera.announce_user();
CREATE TRIGGER removed AFTER DELETE ON users FOR EACH ROW
WHEN (OLD.disabled_at IS NULL) EXECUTE FUNCTION tessera.announce_user();

CREATE TRIGGER revoked AFTER UPDATE ON api_keys FOR EACH ROW
WHEN (OLD.revoked_at IS NULL AND (
    NEW.revoked_at IS NOT NULL
    OR (OLD.tenant, OLD.role, OLD.prefix, OLD.secret_sha256)
        IS DISTINCT FROM (NEW.tenant, NEW.role, NEW.prefix, NEW.secret_sha256)
)) EXECUTE FUNCTION tessera.announce_api_key();
CREATE TRIGGER removed AFTER DELETE ON api_keys FOR EACH ROW
WHEN (OLD.revoked_at IS NULL) EXECUTE FUNCTION tessera.announce_api_key();

REVOKE ALL ON FUNCTION tessera.announce_revocation, tessera.announce_user, tessera.announce_api_key FROM PUBLIC;
"""


def upgrade() -> None:
    op.execute(_REVOCATIONS)
    op.execute("CREATE POLICY administration ON outbox FOR INSERT TO CURRENT_USER WITH CHECK (topic = 'revocation')")
