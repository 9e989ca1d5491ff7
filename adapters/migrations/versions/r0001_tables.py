"""The tables: what Tessera knows."""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None

# As they stood when this revision was made, not as the code has them now: a database that ran it long ago and a new
# one must come out alike. A test holds the newest schema against the code.
_ROLES = "'viewer', 'analyst', 'admin'"
_SLIDE_STATES = "'UPLOADING', 'UPLOADED', 'READY', 'REJECTED', 'ARCHIVED', 'RESTORING', 'DELETED'"
_PRIORITIES = "'high', 'normal', 'low'"
_LIVE_JOB_STATES = "'QUEUED', 'PLANNING', 'RUNNING', 'STITCHING'"
_JOB_STATES = f"{_LIVE_JOB_STATES}, 'COMPLETED', 'COMPLETED_WITH_UNREADABLE_TILES', 'NO_TISSUE', 'FAILED', 'CANCELLED'"
_SHARD_STATES = "'QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED'"

_IDENTITY = f"""
CREATE TABLE tenants (
    id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name        text NOT NULL UNIQUE,
    created_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE users (
    id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    tenant      uuid NOT NULL REFERENCES tenants,
    issuer      text NOT NULL,
    subject     text NOT NULL,
    role        text NOT NULL CHECK (role IN ({_ROLES})),
    disabled_at timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (issuer, subject)
);

CREATE TABLE api_keys (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    tenant        uuid NOT NULL REFERENCES tenants,
    name          text NOT NULL,
    prefix        text NOT NULL UNIQUE,
    secret_sha256 text NOT NULL CHECK (secret_sha256 ~ '^[0-9a-f]{{64}}$'),
    role          text NOT NULL CHECK (role IN ({_ROLES})),
    revoked_at    timestamptz,
    created_at    timestamptz NOT NULL DEFAULT now()
);
"""

_SLIDES = f"""
CREATE TABLE slides (
    id            uuid PRIMARY KEY,
    tenant        uuid NOT NULL REFERENCES tenants,
    name          text NOT NULL,
    state         text NOT NULL CHECK (state IN ({_SLIDE_STATES})),
    digest        text,
    mpp           double precision CHECK (mpp > 0),
    reason        text,
    sentence      text,
    inspection    jsonb,
    thumbnail_key text,
    created_by    text NOT NULL,
    version       integer NOT NULL DEFAULT 1,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    woken_at      timestamptz NOT NULL DEFAULT now(),
    CHECK ((state = 'REJECTED') <= (reason IS NOT NULL AND sentence IS NOT NULL)),
    CHECK ((state = 'READY') <= (inspection IS NOT NULL))
);
COMMENT ON COLUMN slides.name IS 'PHI: never logged';
COMMENT ON COLUMN slides.woken_at IS 'when the last message about it went to the outbox';
CREATE INDEX slides_page ON slides (tenant, created_at DESC, id DESC);
CREATE INDEX slides_unsettled ON slides (state, updated_at) WHERE state IN ('UPLOADING', 'UPLOADED');

CREATE TABLE slide_files (
    slide_id  uuid NOT NULL REFERENCES slides,
    tenant    uuid NOT NULL REFERENCES tenants,
    position  integer NOT NULL,
    name      text NOT NULL,
    uri       text NOT NULL,
    size      bigint NOT NULL CHECK (size >= 0),
    upload_id text,
    etag      text,
    PRIMARY KEY (slide_id, position)
);
COMMENT ON COLUMN slide_files.name IS 'PHI: never logged';
"""

_MODELS = """
CREATE TABLE models (
    name       text PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE model_versions (
    name        text NOT NULL REFERENCES models,
    version     text NOT NULL,
    digest      text NOT NULL,
    card        jsonb NOT NULL,
    package_uri text,
    is_default  boolean NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (name, version)
);
CREATE UNIQUE INDEX model_versions_one_default ON model_versions (name) WHERE is_default;
"""

_JOBS = f"""
CREATE TABLE jobs (
    id               uuid PRIMARY KEY,
    tenant           uuid NOT NULL REFERENCES tenants,
    slide_id         uuid NOT NULL REFERENCES slides,
    model            text NOT NULL,
    model_version    text NOT NULL,
    model_digest     text NOT NULL,
    state            text NOT NULL CHECK (state IN ({_JOB_STATES})),
    reason           text,
    sentence         text,
    priority         text NOT NULL CHECK (priority IN ({_PRIORITIES})),
    options          jsonb NOT NULL,
    label            text,
    identity         text NOT NULL,
    traceparent      text NOT NULL,
    retry_of         uuid REFERENCES jobs,
    version          integer NOT NULL DEFAULT 1,
    progress_seq     integer NOT NULL DEFAULT 0,
    plan_key         text,
    plan_digest      text,
    shards_total     integer NOT NULL DEFAULT 0,
    shards_remaining integer NOT NULL DEFAULT 0 CHECK (shards_remaining BETWEEN 0 AND shards_total),
    tiles_planned    bigint NOT NULL DEFAULT 0,
    tiles_inferred   bigint NOT NULL DEFAULT 0 CHECK (tiles_inferred >= 0),
    tiles_unreadable bigint NOT NULL DEFAULT 0 CHECK (tiles_unreadable >= 0),
    tiles_per_second double precision,
    first_lease_at   timestamptz,
    created_by       text NOT NULL,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    finished_at      timestamptz,
    pushed_at        timestamptz NOT NULL DEFAULT now(),
    woken_at         timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (model, model_version) REFERENCES model_versions,
    CHECK (tiles_inferred + tiles_unreadable <= tiles_planned),
    CHECK ((state = 'FAILED') <= (reason IS NOT NULL AND sentence IS NOT NULL)),
    CHECK ((finished_at IS NULL) = (state IN ({_LIVE_JOB_STATES})))
);
COMMENT ON COLUMN jobs.pushed_at IS 'when subscribers last heard of it: progress is pushed at most once a second';
COMMENT ON COLUMN jobs.woken_at IS 'when the last message about it went to the outbox';
CREATE INDEX jobs_page ON jobs (tenant, created_at DESC, id DESC);
CREATE INDEX jobs_identity ON jobs (tenant, identity, finished_at DESC) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_slide ON jobs (slide_id);
CREATE INDEX jobs_live ON jobs (state, woken_at) WHERE finished_at IS NULL;

CREATE TABLE idempotency_keys (
    tenant      uuid NOT NULL REFERENCES tenants,
    key         text NOT NULL,
    body_digest text NOT NULL,
    job_id      uuid NOT NULL REFERENCES jobs DEFERRABLE INITIALLY DEFERRED,
    reused      boolean NOT NULL DEFAULT false,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, key)
);

CREATE TABLE shards (
    job_id           uuid NOT NULL REFERENCES jobs,
    index            integer NOT NULL CHECK (index >= 0),
    tenant           uuid NOT NULL REFERENCES tenants,
    state            text NOT NULL CHECK (state IN ({_SHARD_STATES})),
    tiles            integer NOT NULL CHECK (tiles > 0),
    attempt          integer NOT NULL DEFAULT 0,
    failures         integer NOT NULL DEFAULT 0,
    silences         integer NOT NULL DEFAULT 0,
    lease_owner      text,
    lease_until      timestamptz,
    leased_at        timestamptz,
    checkpoint_key   text,
    result_key       text,
    tiles_done       integer NOT NULL DEFAULT 0,
    tiles_unreadable integer NOT NULL DEFAULT 0 CHECK (tiles_unreadable BETWEEN 0 AND tiles_done),
    tiles_per_second double precision,
    reported_at      timestamptz,
    reason           text,
    woken_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job_id, index),
    CHECK (tiles_done <= tiles),
    CHECK ((state = 'RUNNING') = (lease_until IS NOT NULL)),
    CHECK ((state = 'DONE') <= (tiles_done = tiles AND result_key IS NOT NULL))
);
CREATE INDEX shards_by_state ON shards (job_id, state);
CREATE INDEX shards_leased ON shards (lease_until) WHERE state = 'RUNNING';
CREATE INDEX shards_waiting ON shards (woken_at) WHERE state = 'QUEUED';

CREATE TABLE job_events (
    seq     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id  uuid NOT NULL REFERENCES jobs,
    tenant  uuid NOT NULL REFERENCES tenants,
    kind    text NOT NULL,
    version integer NOT NULL,
    detail  jsonb NOT NULL,
    at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX job_events_of_job ON job_events (job_id, seq);

CREATE TABLE results (
    job_id     uuid NOT NULL REFERENCES jobs,
    tenant     uuid NOT NULL REFERENCES tenants,
    name       text NOT NULL,
    key        text NOT NULL,
    size       bigint NOT NULL,
    sha256     text NOT NULL,
    media_type text NOT NULL,
    PRIMARY KEY (job_id, name)
);
"""

_NOTICES = """
CREATE TABLE outbox (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant        uuid NOT NULL REFERENCES tenants,
    topic         text NOT NULL,
    body          jsonb NOT NULL,
    traceparent   text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    claimed_until timestamptz,
    sent_at       timestamptz
);
CREATE INDEX outbox_unsent ON outbox (id) WHERE sent_at IS NULL;
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;

CREATE TABLE webhook_deliveries (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant          uuid NOT NULL REFERENCES tenants,
    job_id          uuid NOT NULL REFERENCES jobs,
    job_version     integer NOT NULL,
    url             text NOT NULL,
    attempt         integer NOT NULL DEFAULT 0,
    status          integer,
    error           text,
    next_attempt_at timestamptz,
    delivered_at    timestamptz,
    created_at      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (job_id, job_version, url)
);

CREATE TABLE audit_log (
    seq     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant  uuid NOT NULL REFERENCES tenants,
    actor   text NOT NULL,
    action  text NOT NULL,
    subject text NOT NULL,
    detail  jsonb NOT NULL,
    at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX audit_log_page ON audit_log (tenant, seq);

CREATE TABLE usage (
    tenant         uuid NOT NULL REFERENCES tenants,
    day            date NOT NULL,
    tiles          bigint NOT NULL,
    worker_seconds double precision NOT NULL,
    PRIMARY KEY (tenant, day)
);
"""


def upgrade() -> None:
    for part in (_IDENTITY, _SLIDES, _MODELS, _JOBS, _NOTICES):
        op.execute(part)
