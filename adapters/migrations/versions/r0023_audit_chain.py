"""The audit log as a chain: each line gets a number and a hash over its content and the hash before it.

A deferred trigger links a line when its transaction commits, so that the chain's lock is the last one that a
transaction takes and is held only while it commits. The owner's function writes the links: no role of a process can.
Lines without a tenant are the installation's own; their chain has the nil UUID. Repeated views, refused sign-ins and
the heads of the chains, from which a cut tail is noticed, have small tables beside it.
"""

from __future__ import annotations

from alembic import op

revision = "0023"
down_revision = "0022"

API, SYSTEM = "tessera_api", "tessera_system"
_NIL = "'00000000-0000-0000-0000-000000000000'::uuid"

_TABLES = """
ALTER TABLE audit_log ALTER COLUMN tenant DROP NOT NULL;
COMMENT ON COLUMN audit_log.tenant IS 'NULL: of the installation';
CREATE INDEX audit_log_actor ON audit_log (tenant, actor, seq);
CREATE INDEX audit_log_subject ON audit_log (tenant, subject, seq);

CREATE TABLE audit_links (
    chain  uuid NOT NULL,
    number bigint NOT NULL CHECK (number > 0),
    seq    bigint NOT NULL UNIQUE,
    hash   bytea NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (chain, number)
);
COMMENT ON COLUMN audit_links.chain IS 'the tenant, or the nil UUID: the installation';

CREATE TABLE audit_anchors (
    chain  uuid NOT NULL,
    number bigint NOT NULL,
    hash   bytea NOT NULL,
    at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (chain, number)
);
COMMENT ON TABLE audit_anchors IS 'heads of chains that the sweep has logged outside of the database';

CREATE UNLOGGED TABLE audit_marks (
    tenant  uuid NOT NULL,
    actor   text NOT NULL,
    action  text NOT NULL,
    subject text NOT NULL,
    until   timestamptz NOT NULL,
    PRIMARY KEY (tenant, actor, action, subject)
);
COMMENT ON TABLE audit_marks IS 'views and sessions that have a line already; lost in a crash, they get one more';
CREATE INDEX audit_marks_until ON audit_marks (until);

CREATE TABLE refused_sign_ins (
    minute  timestamptz NOT NULL,
    chain   uuid NOT NULL,
    subject text NOT NULL,
    reason  text NOT NULL,
    count   bigint NOT NULL,
    PRIMARY KEY (minute, chain, subject, reason)
);
COMMENT ON TABLE refused_sign_ins IS 'counted until the sweep writes one line for each row';
"""

#: The canonical content of a line is Postgres' own text of a jsonb array; wsi.audit.chain writes the same.
_HASH = """
CREATE FUNCTION tessera.hash_audit_line(previous bytea, number bigint, line audit_log) RETURNS bytea
STABLE SET search_path = public, pg_temp LANGUAGE sql AS $$
    SELECT sha256(previous || convert_to(jsonb_build_array(
        number, line.tenant, to_char(line.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        line.actor, line.action, line.subject, line.detail
    )::text, 'UTF8'))
$$;
"""

_LINK = f"""
CREATE FUNCTION tessera.stamp_audit_line() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN NEW.at := now(); RETURN NEW; END $$;
CREATE TRIGGER stamp BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION tessera.stamp_audit_line();

CREATE FUNCTION tessera.link_audit_line() RETURNS trigger
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
DECLARE
    this CONSTANT uuid := coalesce(NEW.tenant, {_NIL});
    head audit_links;
    next bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('audit ' || this, 0));
    SELECT * INTO head FROM audit_links WHERE chain = this ORDER BY number DESC LIMIT 1;
    next := coalesce(head.number, 0) + 1;
    INSERT INTO audit_links (chain, number, seq, hash)
    VALUES (this, next, NEW.seq, tessera.hash_audit_line(coalesce(head.hash, ''), next, NEW));
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER link AFTER INSERT ON audit_log DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION tessera.link_audit_line();
"""

#: Lines from before the chain, in the order in which they were written.
_LINK_OLD = """
SELECT set_config('tessera.audits', 'on', true);
DO $$
DECLARE
    line audit_log;
    this uuid;
    hash bytea;
    number bigint;
BEGIN
    FOR line IN SELECT * FROM audit_log ORDER BY tenant, seq LOOP
        IF this IS DISTINCT FROM line.tenant THEN
            this := line.tenant;
            hash := '';
            number := 0;
        END IF;
        number := number + 1;
        hash := tessera.hash_audit_line(hash, number, line);
        INSERT INTO audit_links VALUES (this, number, line.seq, hash);
    END LOOP;
END $$;
SELECT set_config('tessera.audits', '', true);
"""

_NOTE = f"""
CREATE FUNCTION tessera.note_once(
    of_tenant uuid, of_actor text, of_action text, of_subject text, of_detail jsonb, mark text, seconds double precision
) RETURNS double precision SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
DECLARE
    noted timestamptz;
BEGIN
    SELECT until INTO noted FROM audit_marks
    WHERE tenant = of_tenant AND actor = of_actor AND action = of_action AND subject = mark AND until > now();
    IF FOUND THEN
        RETURN extract(epoch FROM noted - now());
    END IF;
    INSERT INTO audit_marks VALUES (of_tenant, of_actor, of_action, mark, now() + make_interval(secs => seconds))
    ON CONFLICT (tenant, actor, action, subject) DO UPDATE SET until = excluded.until
    WHERE audit_marks.until <= now();
    IF FOUND THEN
        INSERT INTO audit_log (tenant, actor, action, subject, detail)
        VALUES (of_tenant, of_actor, of_action, of_subject, of_detail);
        RETURN seconds;
    END IF;
    RETURN 0;  -- another process was first, a moment ago
END $$;
COMMENT ON FUNCTION tessera.note_once IS 'returns for how many seconds no further line will be written';

CREATE FUNCTION tessera.note_refusal(of_reason text, of_issuer text, of_subject text, of_prefix text) RETURNS void
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
DECLARE
    its_tenant uuid;
    its_subject text;
    its_reason text;
BEGIN
    -- Guesses come in floods, and those of one minute share a row: none waits for the disk with the row's lock.
    PERFORM set_config('synchronous_commit', 'off', true);
    IF of_prefix IS NOT NULL THEN
        SELECT tenant, 'key:' || id, CASE WHEN revoked_at IS NULL THEN of_reason ELSE 'revoked' END
        INTO its_tenant, its_subject, its_reason FROM api_keys WHERE prefix = of_prefix;
    ELSIF of_subject IS NOT NULL THEN
        SELECT tenant, 'user:' || id, CASE WHEN disabled_at IS NULL THEN of_reason ELSE 'disabled' END
        INTO its_tenant, its_subject, its_reason FROM users WHERE issuer = of_issuer AND subject = of_subject;
    END IF;
    INSERT INTO refused_sign_ins VALUES (
        date_trunc('minute', now()), coalesce(its_tenant, {_NIL}), coalesce(its_subject, 'nobody'),
        coalesce(its_reason, CASE WHEN of_prefix IS NOT NULL THEN 'unknown' ELSE of_reason END), 1
    ) ON CONFLICT (minute, chain, subject, reason) DO UPDATE SET count = refused_sign_ins.count + 1;
END $$;
"""

_KEEP = f"""
CREATE FUNCTION tessera.keep_audit(anchor_seconds double precision)
RETURNS TABLE (chain uuid, number bigint, hash bytea)
SECURITY DEFINER SET search_path = public, pg_temp LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM audit_marks WHERE until <= now();
    WITH past AS (
        DELETE FROM refused_sign_ins WHERE minute < date_trunc('minute', now()) RETURNING *
    )
    INSERT INTO audit_log (tenant, actor, action, subject, detail)
    SELECT nullif(past.chain, {_NIL}), 'nobody', 'session.refuse', past.subject, jsonb_build_object(
        'reason', past.reason, 'count', past.count,
        'minute', to_char(past.minute AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"')
    )
    FROM past ORDER BY past.chain, past.minute, past.subject, past.reason;
    RETURN QUERY
    INSERT INTO audit_anchors (chain, number, hash)
    SELECT all_chains.id, head.number, head.hash
    FROM (SELECT id FROM tenants UNION ALL SELECT {_NIL}) AS all_chains
    CROSS JOIN LATERAL (
        SELECT number, hash FROM audit_links WHERE chain = all_chains.id ORDER BY number DESC LIMIT 1
    ) AS head
    LEFT JOIN LATERAL (
        SELECT number, at FROM audit_anchors WHERE chain = all_chains.id ORDER BY number DESC LIMIT 1
    ) AS anchor ON true
    WHERE anchor.number IS NULL
        OR head.number > anchor.number AND anchor.at <= now() - make_interval(secs => anchor_seconds)
    ORDER BY all_chains.id
    RETURNING audit_anchors.chain, audit_anchors.number, audit_anchors.hash;
END $$;
"""

_FUNCTIONS = {
    "note_once(uuid, text, text, text, jsonb, text, double precision)": API,
    "note_refusal(text, text, text, text)": API,
    "keep_audit(double precision)": SYSTEM,
    "hash_audit_line(bytea, bigint, audit_log)": None,
    "link_audit_line()": None,
    "stamp_audit_line()": None,
}


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_HASH)
    for table in ("audit_links", "audit_anchors", "audit_marks", "refused_sign_ins"):
        op.execute(
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY; ALTER TABLE {table} FORCE ROW LEVEL SECURITY;"
            f"CREATE POLICY administration ON {table} TO CURRENT_USER USING (true) WITH CHECK (true)"
        )
    for table in ("audit_links", "audit_anchors"):
        op.execute(
            f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION tessera.refuse();"
            f"CREATE POLICY tenant ON {table} FOR SELECT TO {API} USING (chain = (SELECT tessera.tenant()));"
            f"GRANT SELECT ON {table} TO {API}"
        )
    # The owner reads lines to verify them, and sees none without this setting.
    op.execute(
        "CREATE POLICY audits ON audit_log FOR SELECT TO CURRENT_USER"
        " USING ((SELECT current_setting('tessera.audits', true)) = 'on')"
    )
    op.execute(_LINK_OLD)
    op.execute(_LINK)
    op.execute(_NOTE)
    op.execute(_KEEP)
    for function, role in _FUNCTIONS.items():
        op.execute(f"REVOKE ALL ON FUNCTION tessera.{function} FROM PUBLIC")
        if role:
            op.execute(f"GRANT EXECUTE ON FUNCTION tessera.{function} TO {role}")
