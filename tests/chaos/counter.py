"""Counts what became of a load: each fact is a query, and each breach of it a sentence."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.postgres.owner.auditing import OwnerAudit
from adapters.settings.database_roles import OWNER
from local.options import DATABASE, RESULTS
from tests.chaos.load import Load
from tests.chaos.world import World
from wsi.states import JobState

#: summary.json holds times and the job's id.
SAME = ("tiles.csv", "tiles.geojson.gz", "heatmap.ome.tif", "tissue.png", "tile_quality.csv")
COMPLETED = JobState.COMPLETED.value


@dataclass
class Count:
    jobs: Counter[str] = field(default_factory=Counter)  #: by state
    tiles: int = 0
    lost: list[str] = field(default_factory=list)
    duplicated: list[str] = field(default_factory=list)
    inconsistent: list[str] = field(default_factory=list)
    across: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.duplicated or self.inconsistent or self.across)


def count(world: World, load: Load, calm: Mapping[str, str]) -> Count:
    found = Count()
    jobs = {str(row["id"]): row for row in world.sql("SELECT * FROM jobs")}
    found.jobs.update(row["state"] for row in jobs.values())
    found.inconsistent += load.errors
    _count_ends(world, load, jobs, found)
    _count_events(world, jobs, found)
    _count_tiles(world, load, jobs, calm, found)
    _count_usage(world, found)
    found.lost += [f"outbox row {row['id']} ({row['topic']}) was not sent" for row in unsent(world)]
    found.lost += [
        f"dead letter {row['id']} of {row['queue']} was collected: {row['outcome']}"
        for row in world.sql("SELECT id, queue, outcome FROM dead_letters WHERE settled_at IS NULL")
    ]
    if dead := world.messages.redrive():
        found.lost.append(f"{dead} messages are dead letters")
    _count_views(world, load, jobs, found)
    _count_audit_faults(world, load, found)
    return found


def unsent(world: World) -> list[dict[str, Any]]:
    return world.sql("SELECT id, topic FROM outbox WHERE sent_at IS NULL")


def _count_ends(world: World, load: Load, jobs: Mapping[str, dict[str, Any]], found: Count) -> None:
    for job, row in jobs.items():
        if not JobState(row["state"]).is_final:
            found.lost.append(f"job {job} is still {row['state']}")
        if row["state"] == JobState.FAILED:
            events = _tell_events(world, job)
            found.inconsistent.append(f"job {job} failed: {row['reason']}: {row['sentence']} {events}")
        if row["state"] == COMPLETED:
            if row["shards_remaining"]:
                found.inconsistent.append(f"job {job} is complete with {row['shards_remaining']} shards remaining")
            if row["tiles_inferred"] + row["tiles_unreadable"] != row["tiles_planned"] or row["tiles_unreadable"]:
                found.inconsistent.append(f"job {job} counts {row['tiles_inferred']} of {row['tiles_planned']} tiles")
        if row["worker_seconds"] < 0:
            found.inconsistent.append(f"job {job} took {row['worker_seconds']} s")
    for tenant in load.tenants:
        found.lost += [f"job {job} was accepted and is not in SQL" for job in tenant.jobs if job not in jobs]
        for job in tenant.cancelled & jobs.keys():
            if jobs[job]["state"] != JobState.CANCELLED:
                found.inconsistent.append(f"job {job} was cancelled and is {jobs[job]['state']}")
    asked = world.sql("SELECT key, count(*) AS jobs FROM idempotency_keys GROUP BY tenant, key HAVING count(*) > 1")
    found.duplicated += [f"key {row['key']} made {row['jobs']} jobs" for row in asked]


def _tell_events(world: World, job: str) -> str:
    """Return what happened to the job's failed shards, one after the other: the database goes with the run."""
    events = world.sql(
        """
        SELECT to_char(at, 'HH24:MI:SS.MS') AS at, kind, detail FROM job_events
        WHERE job_id = %s::uuid AND detail ->> 'shard' IN (
            SELECT index::text FROM shards WHERE job_id = %s::uuid AND state = 'FAILED'
        ) ORDER BY seq
        """,
        job,
        job,
    )
    return "; ".join(
        " ".join([one["at"], one["kind"], *(f"{name}={value}" for name, value in one["detail"].items())])
        for one in events
    )


def _count_events(world: World, jobs: Mapping[str, dict[str, Any]], found: Count) -> None:
    events = world.sql("SELECT * FROM job_events ORDER BY job_id, seq")
    moves: dict[str, list[dict[str, Any]]] = {job: [] for job in jobs}
    commits: dict[str, list[dict[str, Any]]] = {job: [] for job in jobs}
    for event in events:
        if event["kind"] == "shard_failed" and event["detail"]["reason"] == OSError.__name__:
            found.inconsistent.append(
                f"shard {event['detail']['shard']} of job {event['job_id']} failed by its worker's disk"
            )
        kept = {"moved": moves, "shard_committed": commits}.get(event["kind"])
        if kept is not None:
            kept[str(event["job_id"])].append(event)
    for job, made in moves.items():
        versions = [event["version"] for event in made]
        if versions != list(range(1, jobs[job]["version"] + 1)):
            found.inconsistent.append(f"job {job} at version {jobs[job]['version']} has moves {versions}")
        ends = [event for event in made if JobState(event["detail"]["state"]).is_final]
        if len(ends) > 1:
            found.duplicated.append(f"job {job} ended {len(ends)} times")
        # The commit of the last shard moves the job in its own transaction. The sweep would repair what did not.
        stitching = [event["at"] for event in made if event["detail"]["state"] == JobState.STITCHING]
        if stitching and (not commits[job] or stitching != [commits[job][-1]["at"]]):
            found.inconsistent.append(f"job {job} went to STITCHING outside the commit of its last shard")
    for job, made in commits.items():
        for shard, times in Counter(event["detail"]["shard"] for event in made).items():
            if times > 1:
                found.duplicated.append(f"shard {shard} of job {job} was committed {times} times")
        if jobs[job]["state"] == COMPLETED and len(made) != jobs[job]["shards_total"]:
            found.inconsistent.append(f"job {job} has {len(made)} commits of {jobs[job]['shards_total']} shards")


def _count_tiles(
    world: World, load: Load, jobs: Mapping[str, dict[str, Any]], calm: Mapping[str, str], found: Count
) -> None:
    kinds = {job: kind for tenant in load.tenants for job, kind in tenant.jobs.items()}
    expected = {kind: dict(_read_digests(world, job)) for kind, job in calm.items()}
    for job, row in jobs.items():
        if row["state"] != COMPLETED or job not in kinds:
            continue
        digests = dict(_read_digests(world, job))
        for name, (digest, recorded) in digests.items():
            if digest != recorded:
                found.inconsistent.append(f"{name} of job {job} is not what was recorded")
            if digest != expected[kinds[job]][name][0]:
                found.inconsistent.append(f"{name} of job {job} differs from the calm run")
        if digests.keys() != expected[kinds[job]].keys():
            found.lost.append(f"job {job} lacks result files: it has {sorted(digests)}")
        key = world.sql("SELECT key FROM results WHERE job_id = %s::uuid AND name = 'tiles.csv'", job)[0]["key"]
        rows = world.stack.clients.s3.get_object(Bucket=RESULTS, Key=key)["Body"].read().splitlines()[1:]
        if len(rows) < row["tiles_planned"]:
            found.lost.append(f"job {job} has {len(rows)} of {row['tiles_planned']} tiles")
        if len(set(rows)) < len(rows):
            found.duplicated.append(f"job {job} has {len(rows) - len(set(rows))} tiles twice")
        found.tiles += len(rows)


def _read_digests(world: World, job: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield name, the digest of what S3 holds, and the recorded one."""
    for row in world.sql("SELECT * FROM results WHERE job_id = %s::uuid", job):
        if row["name"] in SAME:
            held = world.stack.clients.s3.get_object(Bucket=RESULTS, Key=row["key"])["Body"].read()
            yield row["name"], (hashlib.sha256(held).hexdigest(), row["sha256"])


def _count_usage(world: World, found: Count) -> None:
    rows = world.sql(
        """
        SELECT tenant, coalesce(used, 0) AS used, coalesce(committed, 0) AS committed
        FROM (SELECT tenant, sum(tiles)::bigint AS used FROM usage GROUP BY tenant) AS used FULL JOIN (
            SELECT tenant, sum((detail ->> 'tiles')::bigint)::bigint AS committed FROM job_events
            WHERE kind = 'shard_committed' GROUP BY tenant
        ) AS committed USING (tenant)
        """
    )
    for row in rows:
        if row["used"] != row["committed"]:
            kept = found.duplicated if row["used"] > row["committed"] else found.lost
            kept.append(f"tenant {row['tenant']} is charged {row['used']} tiles of {row['committed']}")


def _count_audit_faults(world: World, load: Load, found: Count) -> None:
    audit = OwnerAudit(lambda: world.stack.postgres.make_dsn(OWNER, DATABASE))
    for tenant in load.tenants:
        faults = audit.verify(tenant.name).faults
        found.inconsistent += [f"audit log of {tenant.name}: {fault.sentence}" for fault in faults]


def _count_views(world: World, load: Load, jobs: Mapping[str, dict[str, Any]], found: Count) -> None:
    for tenant in load.tenants:
        own = {job for job, row in jobs.items() if row["tenant"] == world.stack.tenants[tenant.name]}
        listed = tenant.list_jobs()
        found.across += [f"{tenant.name} lists job {job} of another tenant" for job in listed - own]
        found.lost += [f"{tenant.name} does not see its job {job}" for job in own - listed]
        found.across += [f"{tenant.name} reads job {job}" for job in sorted(jobs.keys() - own)[:5] if tenant.sees(job)]
