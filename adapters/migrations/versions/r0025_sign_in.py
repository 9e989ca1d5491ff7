"""Sign-in: whoever loses access is named in the outbox, in the same transaction; single sign-on adds people."""

from __future__ import annotations

from alembic import op

revision = "0025"
down_revision = "0024"

# Triggers, so that no way of taking access away forgets it. They run as the owner, whoever fires them. Each revocation
# is sent twice: AppSync can miss a subscription that begins in the same moment, as it misses updates (F-32).
_REVOCATIONS = """
CREATE FUNCTION tessera.announce_revocation(
    of_tenant uuid, of_subject text, ends_at timestamptz DEFAULT clock_timestamp()
) RETURNS void
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE sql AS $$
    INSERT INTO outbox (tenant, topic, body, traceparent, created_at, claimed_until)
    SELECT of_tenant, 'revocation', jsonb_build_object('tenant', of_tenant, 'subject', of_subject),
        '00-' || replace(gen_random_uuid()::text, '-', '') || '-'
            || left(replace(gen_random_uuid()::text, '-', ''), 16) || '-00',
        ends_at + waits, ends_at + waits
    FROM unnest(ARRAY[interval '0 seconds', interval '5 seconds']) AS waits
$$;
COMMENT ON FUNCTION tessera.announce_revocation IS
    'ends the open subscriptions of "user:<uuid>", of "key:<uuid>", or with "*" of all of the tenant, at that time';

CREATE FUNCTION tessera.announce_user() RETURNS trigger
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
BEGIN PERFORM tessera.announce_revocation(OLD.tenant, 'user:' || OLD.id); RETURN NULL; END $$;

CREATE FUNCTION tessera.announce_api_key() RETURNS trigger
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
BEGIN PERFORM tessera.announce_revocation(OLD.tenant, 'key:' || OLD.id); RETURN NULL; END $$;

CREATE FUNCTION tessera.announce_expiry() RETURNS trigger
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
BEGIN PERFORM tessera.announce_revocation(NEW.tenant, 'key:' || NEW.id, NEW.expires_at); RETURN NULL; END $$;

CREATE FUNCTION tessera.announce_tenant() RETURNS trigger
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
BEGIN PERFORM tessera.announce_revocation(NEW.id, '*'); RETURN NULL; END $$;

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

CREATE TRIGGER expires AFTER INSERT OR UPDATE OF expires_at ON api_keys FOR EACH ROW
WHEN (NEW.expires_at IS NOT NULL AND NEW.revoked_at IS NULL) EXECUTE FUNCTION tessera.announce_expiry();
CREATE TRIGGER suspended AFTER UPDATE OF suspended_at ON tenants FOR EACH ROW
WHEN (OLD.suspended_at IS NULL AND NEW.suspended_at IS NOT NULL) EXECUTE FUNCTION tessera.announce_tenant();

REVOKE ALL ON FUNCTION tessera.announce_revocation, tessera.announce_user, tessera.announce_api_key,
    tessera.announce_expiry, tessera.announce_tenant FROM PUBLIC;
"""

# For the authorizer, after it has verified the token's signature and issuer. Of two tokens the newer one decides, so
# that an older one, which is valid for an hour, takes no role back.
_SINGLE_SIGN_ON = """
ALTER TABLE users ADD COLUMN signed_on_at timestamptz;
COMMENT ON COLUMN users.signed_on_at IS 'issue of the newest token of single sign-on; NULL: added by an operator';

CREATE FUNCTION tessera.admit_member(
    of_issuer text, of_subject text, of_tenant text, of_role text, of_email text, issued_at timestamptz
)
RETURNS TABLE (tenant uuid, subject text, role text)
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
DECLARE
    into_tenant uuid;
    known users%ROWTYPE;
    is_changed boolean := false;
BEGIN
    SELECT tenants.id INTO into_tenant FROM tenants WHERE tenants.name = of_tenant AND suspended_at IS NULL;
    IF into_tenant IS NULL THEN RETURN; END IF;
    SELECT * INTO known FROM users WHERE users.issuer = of_issuer AND users.subject = of_subject;
    IF NOT FOUND THEN
        INSERT INTO users (tenant, issuer, subject, role, email, signed_on_at)
        VALUES (into_tenant, of_issuer, of_subject, of_role, of_email, issued_at) ON CONFLICT DO NOTHING;
        is_changed := FOUND;
        SELECT * INTO known FROM users WHERE users.issuer = of_issuer AND users.subject = of_subject;
    END IF;
    IF known.tenant <> into_tenant OR known.disabled_at IS NOT NULL THEN RETURN; END IF;
    IF known.signed_on_at IS NULL OR known.signed_on_at < issued_at THEN
        BEGIN
            UPDATE users SET role = of_role, email = coalesce(of_email, users.email), signed_on_at = issued_at
            WHERE users.id = known.id AND users.tenant = into_tenant AND users.disabled_at IS NULL
                AND (users.signed_on_at IS NULL OR users.signed_on_at < issued_at);
            is_changed := FOUND AND known.role <> of_role;
        EXCEPTION WHEN SQLSTATE 'TS409' THEN  -- the last admin stays one, until another one comes
            is_changed := false;
        END;
    END IF;
    IF is_changed THEN
        INSERT INTO audit_log (tenant, actor, action, subject, detail) VALUES
            (into_tenant, 'sign-on', 'user.sign_on', 'user:' || known.id, jsonb_build_object('role', of_role));
    END IF;
    RETURN QUERY SELECT users.tenant, 'user:' || users.id, users.role FROM users
        WHERE users.id = known.id AND users.tenant = into_tenant AND users.disabled_at IS NULL;
END $$;

REVOKE ALL ON FUNCTION tessera.admit_member FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tessera.admit_member TO tessera_api;
"""


def upgrade() -> None:
    op.execute(_REVOCATIONS)
    op.execute(_SINGLE_SIGN_ON)
    op.execute("CREATE POLICY administration ON outbox FOR INSERT TO CURRENT_USER WITH CHECK (topic = 'revocation')")
