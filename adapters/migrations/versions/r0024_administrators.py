"""Administration through the API: admins change the people and keys of their tenant, operators those of any tenant.

Row-level security decides, by the actor that a transaction named and by the role that this actor has in our tables
now: a role that a token, a cache or a bug claims changes nothing. Operators belong to a tenant of their own, which has
a fixed id and no slides. A tenant that has had an admin keeps one. A suspended tenant's transactions end with a
message.
"""

from __future__ import annotations

from alembic import op

revision = "0024"
down_revision = "0023"

API = "tessera_api"
#: As `wsi.records.identity.OPERATORS`.
_OPERATORS = "00000000-0000-4000-8000-000000000001"
_ROLES = "'viewer', 'analyst', 'admin', 'operator'"

_TABLES = f"""
ALTER TABLE tenants ADD COLUMN suspended_at timestamptz;
ALTER TABLE api_keys ADD COLUMN expires_at timestamptz, ADD COLUMN last_used_at timestamptz;
COMMENT ON COLUMN api_keys.last_used_at IS 'written at most once an hour';
INSERT INTO tenants (id, name) VALUES ('{_OPERATORS}', '(operators)');

CREATE TABLE invitations (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    tenant       uuid NOT NULL REFERENCES tenants,
    email        text NOT NULL CHECK (email = lower(email)),
    role         text NOT NULL CHECK (role IN ({_ROLES})),
    issuer       text,
    subject      text,
    expires_at   timestamptz NOT NULL,
    accepted_at  timestamptz,
    withdrawn_at timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    CHECK ((issuer IS NULL) = (subject IS NULL)),
    CHECK ((role = 'operator') = (tenant = '{_OPERATORS}'))
);
COMMENT ON COLUMN invitations.email IS 'personal data: never logged';
COMMENT ON COLUMN invitations.subject IS 'of the account it is for; NULL: whoever proves the address first';
CREATE UNIQUE INDEX invitations_pending ON invitations (tenant, email)
    WHERE accepted_at IS NULL AND withdrawn_at IS NULL;
CREATE INDEX invitations_of_address ON invitations (email) WHERE accepted_at IS NULL AND withdrawn_at IS NULL;
CREATE INDEX users_of_tenant ON users (tenant);
CREATE INDEX api_keys_of_tenant ON api_keys (tenant);
"""

# An operator belongs to the operators' tenant, and nobody else does.
_ROLES_OF_ALL = "".join(
    f"""
ALTER TABLE {table} DROP CONSTRAINT {table}_role_check,
    ADD CONSTRAINT {table}_role_check CHECK (role IN ({_ROLES})),
    ADD CONSTRAINT {table}_operator_check CHECK ((role = 'operator') = (tenant = '{_OPERATORS}'));
"""
    for table in ("users", "api_keys")
)

# `acting` runs as the owner. What it returns holds for the transaction's actor only: a disabled person, a revoked or
# expired key and anybody of a suspended tenant act for nobody.
_ACTING = """
CREATE FUNCTION tessera.acting(OUT tenant uuid, OUT role text, OUT until timestamptz)
STABLE SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE sql AS $$
    SELECT users.tenant, users.role, NULL::timestamptz
    FROM users JOIN tenants ON tenants.id = users.tenant
    WHERE users.id = substring(current_setting('tessera.actor', true) FROM '^user:([0-9a-f-]{36})$')::uuid
        AND disabled_at IS NULL AND suspended_at IS NULL
    UNION ALL
    SELECT api_keys.tenant, api_keys.role, api_keys.expires_at
    FROM api_keys JOIN tenants ON tenants.id = api_keys.tenant
    WHERE api_keys.id = substring(current_setting('tessera.actor', true) FROM '^key:([0-9a-f-]{36})$')::uuid
        AND revoked_at IS NULL AND suspended_at IS NULL AND (expires_at IS NULL OR expires_at > now())
$$;

CREATE FUNCTION tessera.may_administer(of_tenant uuid) RETURNS boolean STABLE LANGUAGE sql AS $$
    SELECT coalesce(
        (SELECT role = 'operator' OR role = 'admin' AND tenant = of_tenant FROM tessera.acting()), false
    )
$$;

CREATE FUNCTION tessera.act(actor text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('tessera.actor', actor, true);
    IF (SELECT role FROM tessera.acting()) IN ('admin', 'operator') THEN RETURN; END IF;
    RAISE EXCEPTION 'This needs the role admin, which you do not have, or no longer.' USING ERRCODE = 'TS403';
END $$;
COMMENT ON FUNCTION tessera.act IS 'first statement of an administrator''s transaction: whose people and keys exist';

CREATE FUNCTION tessera.administer(of_tenant uuid) RETURNS void
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
BEGIN
    -- Those who change one tenant take turns, and whoever waited is asked again what they are.
    PERFORM FROM tenants WHERE id = of_tenant FOR NO KEY UPDATE;
    IF NOT tessera.may_administer(of_tenant) THEN
        RAISE EXCEPTION 'This needs the role admin, which you do not have, or no longer.' USING ERRCODE = 'TS403';
    END IF;
    PERFORM set_config('tessera.tenant', of_tenant::text, true);
END $$;
COMMENT ON FUNCTION tessera.administer IS 'before a change: waits for other changes to the tenant, and enters it';

CREATE FUNCTION tessera.check_operator(actor text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('tessera.actor', actor, true);
    IF (SELECT role FROM tessera.acting()) = 'operator' THEN RETURN; END IF;
    RAISE EXCEPTION 'This needs the role operator, which you do not have, or no longer.' USING ERRCODE = 'TS403';
END $$;
"""

_POLICIES = f"""
CREATE POLICY administrator ON tenants FOR SELECT TO {API}
    USING (id = (SELECT tenant FROM tessera.acting()) OR (SELECT role FROM tessera.acting()) = 'operator');
CREATE POLICY administrator ON users TO {API}
    USING (tessera.may_administer(tenant)) WITH CHECK (tessera.may_administer(tenant));
CREATE POLICY administrator ON invitations TO {API}
    USING (tessera.may_administer(tenant)) WITH CHECK (tessera.may_administer(tenant));
-- A key that expires makes none that outlives it, and does not prolong its own life.
CREATE POLICY administrator ON api_keys TO {API}
    USING (tessera.may_administer(tenant))
    WITH CHECK (
        tessera.may_administer(tenant)
        AND ((SELECT until FROM tessera.acting()) IS NULL
            OR revoked_at IS NOT NULL OR expires_at <= (SELECT until FROM tessera.acting()))
    );
ALTER TABLE invitations ENABLE ROW LEVEL SECURITY;
ALTER TABLE invitations FORCE ROW LEVEL SECURITY;
CREATE POLICY administration ON invitations TO CURRENT_USER USING (true) WITH CHECK (true);

GRANT SELECT (id, name, suspended_at) ON tenants TO {API};
GRANT SELECT (id, tenant, subject, role, email, disabled_at, created_at) ON users TO {API};
GRANT UPDATE (tenant, role, disabled_at) ON users TO {API};
GRANT SELECT, INSERT, UPDATE (issuer, subject, withdrawn_at) ON invitations TO {API};
GRANT SELECT (id, tenant, name, prefix, role, revoked_at, expires_at, last_used_at, created_at) ON api_keys TO {API};
GRANT INSERT (tenant, name, prefix, secret_sha256, role, expires_at) ON api_keys TO {API};
GRANT UPDATE (revoked_at, expires_at) ON api_keys TO {API};
"""

# Keys sign in to no page, so a tenant that has an admin among its people keeps one there. A tenant without keeps a key
# that neither expires nor is revoked.
_LAST_ADMIN = """
CREATE FUNCTION tessera.keep_an_admin() RETURNS trigger
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM tenants WHERE id = OLD.tenant FOR NO KEY UPDATE;
    IF EXISTS (SELECT FROM users WHERE tenant = OLD.tenant AND role = OLD.role AND disabled_at IS NULL) THEN
        RETURN NULL;
    END IF;
    IF TG_TABLE_NAME = 'api_keys' AND EXISTS (
        SELECT FROM api_keys
        WHERE tenant = OLD.tenant AND role = OLD.role AND revoked_at IS NULL AND expires_at IS NULL
    ) THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'This would remove the last %; make somebody else an % first.', OLD.role, OLD.role
        USING ERRCODE = 'TS409';
END $$;

CREATE TRIGGER keep_an_admin AFTER UPDATE OF tenant, role, disabled_at ON users FOR EACH ROW
WHEN (
    OLD.role IN ('admin', 'operator') AND OLD.disabled_at IS NULL
    AND (NEW.disabled_at IS NOT NULL OR NEW.role <> OLD.role OR NEW.tenant <> OLD.tenant)
)
EXECUTE FUNCTION tessera.keep_an_admin();
CREATE TRIGGER keep_an_admin_row AFTER DELETE ON users FOR EACH ROW
WHEN (OLD.role IN ('admin', 'operator') AND OLD.disabled_at IS NULL)
EXECUTE FUNCTION tessera.keep_an_admin();
CREATE TRIGGER keep_an_admin AFTER UPDATE OF role, revoked_at, expires_at ON api_keys FOR EACH ROW
WHEN (
    OLD.role IN ('admin', 'operator') AND OLD.revoked_at IS NULL AND OLD.expires_at IS NULL
    AND (NEW.revoked_at IS NOT NULL OR NEW.expires_at IS NOT NULL OR NEW.role <> OLD.role)
)
EXECUTE FUNCTION tessera.keep_an_admin();
CREATE TRIGGER keep_an_admin_row AFTER DELETE ON api_keys FOR EACH ROW
WHEN (OLD.role IN ('admin', 'operator') AND OLD.revoked_at IS NULL AND OLD.expires_at IS NULL)
EXECUTE FUNCTION tessera.keep_an_admin();
"""

_IDENTIFICATION = """
CREATE OR REPLACE FUNCTION tessera.identify_api_key(of_prefix text, of_secret_sha256 text)
RETURNS TABLE (tenant uuid, subject text, role text)
VOLATILE SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE sql AS $$
    -- Whoever uses the key at the same moment does not wait for this line.
    UPDATE api_keys SET last_used_at = now()
    WHERE id = (
        SELECT id FROM api_keys
        WHERE prefix = of_prefix AND secret_sha256 = of_secret_sha256 AND revoked_at IS NULL
            AND (expires_at IS NULL OR expires_at > now())
            AND (last_used_at IS NULL OR last_used_at < now() - interval '1 hour')
        FOR NO KEY UPDATE SKIP LOCKED
    );
    SELECT api_keys.tenant, 'key:' || api_keys.id, api_keys.role
    FROM api_keys
    WHERE prefix = of_prefix AND secret_sha256 = of_secret_sha256 AND revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > now())
$$;

CREATE FUNCTION tessera.accept_invitation(of_issuer text, of_subject text, of_email text)
RETURNS TABLE (tenant uuid, subject text, role text, is_new boolean)
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    invitation invitations;
BEGIN
    UPDATE invitations SET accepted_at = now()
    WHERE id = (
        SELECT pending.id FROM invitations AS pending JOIN tenants ON tenants.id = pending.tenant
        WHERE accepted_at IS NULL AND withdrawn_at IS NULL AND expires_at > now() AND suspended_at IS NULL
            AND (pending.issuer = of_issuer AND pending.subject = of_subject
                OR pending.subject IS NULL AND pending.email = lower(of_email))
        ORDER BY pending.subject IS NULL, pending.created_at DESC LIMIT 1
    ) AND accepted_at IS NULL AND withdrawn_at IS NULL
    RETURNING * INTO invitation;
    IF invitation.id IS NOT NULL THEN
        INSERT INTO users (tenant, issuer, subject, role, email)
        VALUES (invitation.tenant, of_issuer, of_subject, invitation.role, invitation.email);
    END IF;
    -- Of several requests of a first sign-in, one accepts; the others waited, and find the person.
    RETURN QUERY SELECT known.*, invitation.id IS NOT NULL FROM tessera.identify_user(of_issuer, of_subject) AS known;
END $$;

CREATE FUNCTION tessera.has_account(of_issuer text, of_subject text) RETURNS boolean
STABLE SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE sql AS $$
    SELECT EXISTS (SELECT FROM users WHERE issuer = of_issuer AND subject = of_subject)
        AND (SELECT role FROM tessera.acting()) IN ('admin', 'operator')
$$;

CREATE FUNCTION tessera.is_suspended(of_tenant uuid) RETURNS boolean
STABLE SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE sql AS $$
    SELECT EXISTS (SELECT FROM tenants WHERE id = of_tenant AND suspended_at IS NOT NULL)
$$;

CREATE OR REPLACE FUNCTION tessera.enter(tenant uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF tessera.is_suspended(tenant) THEN
        RAISE EXCEPTION 'Your organisation is suspended here; ask the operator of this installation.'
            USING ERRCODE = 'TS403';
    END IF;
    PERFORM set_config('tessera.tenant', tenant::text, true);
END $$;
"""

#: What the API calls by itself or in a policy. `check_operator` is the owner's.
_CALLED = (
    *("acting()", "may_administer(uuid)", "act(text)", "administer(uuid)", "has_account(text, text)"),
    *("accept_invitation(text, text, text)", "is_suspended(uuid)"),
)


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_ROLES_OF_ALL)
    op.execute(_ACTING)
    op.execute(_POLICIES)
    op.execute(_LAST_ADMIN)
    op.execute(_IDENTIFICATION)
    for function in (*_CALLED, "check_operator(text)", "keep_an_admin()"):
        op.execute(f"REVOKE ALL ON FUNCTION tessera.{function} FROM PUBLIC")
    for function in _CALLED:
        op.execute(f"GRANT EXECUTE ON FUNCTION tessera.{function} TO {API}")
