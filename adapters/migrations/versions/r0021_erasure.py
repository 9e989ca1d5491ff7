"""Erasure: jobs that are deleted, objects that are known to be gone, legal holds, and how long each tenant keeps what.

A slide stays DELETED, and a deleted job in its final state: the release before knows no further state. What that
release deletes while both run is found by the sweep, since `erased_at` is NULL.
"""

from __future__ import annotations

from alembic import op

revision = "0021"
down_revision = "0020"

API = "tessera_api"
SYSTEM = "tessera_system"

_COLUMNS = """
ALTER TABLE slides
    ADD COLUMN legal_hold boolean NOT NULL DEFAULT false,
    ADD COLUMN erased_at timestamptz,
    ADD CHECK ((erased_at IS NOT NULL) <= (state = 'DELETED')),
    ADD CHECK (legal_hold <= (state <> 'DELETED'));
COMMENT ON COLUMN slides.legal_hold IS 'neither the slide nor its jobs may be deleted, by nobody';
COMMENT ON COLUMN slides.erased_at IS 'when nothing could write objects of it any more, and the last ones were gone';
COMMENT ON COLUMN slides.woken_at IS
    'when the last message about it went to the outbox; while RESTORING or DELETED, when it was last looked at';

ALTER TABLE jobs
    ADD COLUMN deleted_at timestamptz,
    ADD COLUMN erased_at timestamptz,
    ADD CHECK ((deleted_at IS NOT NULL) <= (finished_at IS NOT NULL)),
    ADD CHECK ((erased_at IS NOT NULL) <= (deleted_at IS NOT NULL));
COMMENT ON COLUMN jobs.deleted_at IS 'its ids and counts stay, for usage; nobody is shown it';
COMMENT ON COLUMN jobs.erased_at IS 'as of slides';

CREATE INDEX slides_to_erase ON slides (woken_at) WHERE state = 'DELETED' AND erased_at IS NULL;
CREATE INDEX jobs_to_erase ON jobs (woken_at) WHERE deleted_at IS NOT NULL AND erased_at IS NULL;
"""

_RETENTION = f"""
CREATE TABLE retention (
    tenant      uuid PRIMARY KEY REFERENCES tenants,
    slide_days  integer CHECK (slide_days > 0),
    result_days integer CHECK (result_days > 0),
    key_days    integer CHECK (key_days > 0)
);
COMMENT ON COLUMN retention.slide_days IS 'from when a slide was created; NULL: until somebody deletes it';
COMMENT ON COLUMN retention.result_days IS 'from when a job ended';
COMMENT ON COLUMN retention.key_days IS 'how long an Idempotency-Key is known';

ALTER TABLE retention ENABLE ROW LEVEL SECURITY;
ALTER TABLE retention FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON retention FOR SELECT TO {API} USING (tenant = (SELECT tessera.tenant()));
CREATE POLICY system ON retention FOR SELECT TO {SYSTEM} USING (true);
CREATE POLICY administration ON retention TO CURRENT_USER USING (true) WITH CHECK (true);
GRANT SELECT ON retention TO {API}, {SYSTEM};
"""


def upgrade() -> None:
    op.execute(_COLUMNS)
    op.execute(_RETENTION)
    op.execute(f"GRANT DELETE ON results, deliveries, idempotency_keys TO {API}, {SYSTEM}")
    op.execute(f"GRANT SELECT ON idempotency_keys TO {SYSTEM}")
