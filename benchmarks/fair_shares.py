"""The shares of tenants with unequal backlogs: a real Postgres, the relay, and simulated workers without pixels.

    python -m benchmarks.fair_shares [SHARDS] [--tenants 20] [--workers 4]

Each tenant has one job. The backlogs are 1 to 10 units, evenly among the tenants. Workers take the oldest message, or
one at random, since SQS promises no order; a shard takes 45 to 75 simulated seconds. Half-way, the tenants that still
wait should have had as much as each other: what the shards done so far give if nobody gets more than he asked for. The
arm "sent at once" puts all messages into the queue in the order of the plans, as before there were lines.
"""

from __future__ import annotations

import argparse
import heapq
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast
from uuid import UUID, uuid4

from adapters.postgres.connections import Connections
from adapters.postgres.owner.migrate import migrate
from adapters.postgres.owner.seeding import SeedTenant, seed
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.postgres.tenant_ledger import PostgresTenantLedger
from adapters.settings.database_roles import API_ROLE, SYSTEM_ROLE
from adapters.settings.scaling import compute_shards_in_flight
from benchmarks.machine import describe_machine
from local.postgres import EmbeddedPostgres
from wsi.notices.outbox import relay
from wsi.ports.ledger import SystemLedger, TenantLedger
from wsi.ports.push import Publisher
from wsi.ports.queues import Queues
from wsi.records.identity import Actor, Role
from wsi.records.jobs import NewJob
from wsi.records.models import ModelVersion
from wsi.records.notices import JobUpdate, OutgoingMessage
from wsi.records.shards import Lease, ShardCount
from wsi.records.slides import SlideFile

SHARDS, TENANTS, WORKERS = 5_000, 20, 4
MOST_UNITS = 10
SHARD_SECONDS: Final = (45.0, 75.0)
TILES = 4
MODEL = ModelVersion(name="none", version="1", digest="d" * 64, card={"name": "none"}, package_uri=None)
Message = tuple[UUID, int]  #: job, shard


@dataclass
class MessageList:
    """The queues and the publisher of the relay: a list of messages, the oldest first. Updates go nowhere."""

    messages: list[Message] = field(default_factory=list[Message])
    most: int = 0  #: messages that were there at once

    def send_batch(self, queue: str, messages: Sequence[OutgoingMessage]) -> Mapping[int, str]:
        if queue.startswith("shards-"):
            self.messages += [(UUID(message.body["job_id"]), message.body["shard"]) for message in messages]
            self.most = max(self.most, len(self.messages))
        return {}

    def publish(self, update: JobUpdate) -> None:
        pass


@dataclass(frozen=True, kw_only=True)
class ShareReport:
    """The shards that each tenant asked for and has had."""

    asked: Sequence[int]
    done: Sequence[int]
    most_messages: int  #: in the queue at once

    @property
    def share(self) -> float:
        """The shards of a tenant that still waits, if all had been served equally and nobody beyond what he asked."""
        left, waiting, level = sum(self.done), sorted(self.asked), 0.0
        while waiting:
            step = min(waiting[0] - level, left / len(waiting))
            left, level = left - step * len(waiting), level + step
            if level < waiting[0]:
                break
            waiting = [asked for asked in waiting if asked > level]
        return level

    @property
    def deviations(self) -> list[float]:
        """The deviation from the share of each tenant that still waits, as a part of the share."""
        pairs = zip(self.asked, self.done, strict=True)
        return [done / self.share - 1 for asked, done in pairs if done < asked]

    @property
    def worst(self) -> float:
        return max(map(abs, self.deviations), default=0.0)


def split_backlog(shards: int, tenants: int) -> list[int]:
    """Return backlogs of 1 to 10 units that are `shards` together."""
    units = [1 + place * MOST_UNITS // tenants for place in range(tenants)]
    ends = [round(shards * sum(units[: place + 1]) / sum(units)) for place in range(tenants)]
    return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]


def measure_shares(
    tenants: TenantLedger,
    system: SystemLedger,
    ids: Sequence[UUID],
    backlogs: Sequence[int],
    *,
    workers: int,
    has_lines: bool = True,
    is_ordered: bool = True,
    seed_of_work: int = 1,
) -> ShareReport:
    """Compute half of the shards and report who got how many. The largest backlogs are planned first."""
    draw = random.Random(seed_of_work)
    actors = [Actor(tenant=tenant, subject="benchmark", role=Role.ADMIN) for tenant in ids]
    places: dict[UUID, int] = {}
    for place in sorted(range(len(ids)), key=lambda place: -backlogs[place]):
        places[plan_job(tenants, system, actors[place], backlogs[place])] = place
    queue = MessageList()
    if not has_lines:
        queue.messages = [(job, index) for job, place in places.items() for index in range(backlogs[place])]
    done = [0] * len(ids)
    ends: list[tuple[float, int, Lease]] = []
    now = 0.0
    while sum(done) < sum(backlogs) // 2:
        if has_lines:
            run_relay(system, queue, compute_shards_in_flight(workers))
        while queue.messages and len(ends) < workers:
            job, index = queue.messages.pop(0 if is_ordered else draw.randrange(len(queue.messages)))
            lease = system.lease_shard(job, index, owner="worker", seconds=3_600)
            assert isinstance(lease, Lease), lease
            heapq.heappush(ends, (now + draw.uniform(*SHARD_SECONDS), len(done) * index + places[job], lease))
        now, _, lease = heapq.heappop(ends)
        count = ShardCount(inferred=lease.tiles, unreadable=0)
        assert system.commit_shard(lease, result_key="result", count=count, tiles_per_second=None)
        done[places[lease.job.id]] += 1
    return ShareReport(asked=backlogs, done=done, most_messages=queue.most)


def plan_job(tenants: TenantLedger, system: SystemLedger, actor: Actor, shards: int) -> UUID:
    """Return a RUNNING job of a slide of its own, whose shards wait."""
    slide_id = uuid4()
    file = SlideFile(name="slide.svs", uri=f"s3://slides/{slide_id}/0", size=1)
    slide = tenants.register_slide(actor, slide_id, "slide", [file], mpp=None, digest="d")
    inspection: dict[str, Any] = {"levels": [{"width": 1, "height": 1}]}
    assert system.accept_slide(slide_id, inspection, "thumbnail", version=slide.version)
    job = NewJob(
        id=uuid4(),
        slide_id=slide_id,
        slide_version=slide.version + 1,
        model=MODEL.name,
        model_version=MODEL.version,
        model_digest=MODEL.digest,
        identity=uuid4().hex,
        traceparent="",
    )
    tenants.submit_job(actor, job, idempotency=None, reuse_finished=False)
    assert system.begin_planning(job.id)
    assert system.commit_plan(job.id, plan_key="plan", plan_digest="d", shard_tiles=[TILES] * shards)
    return job.id


def run_relay(system: SystemLedger, queue: MessageList, in_flight: int) -> None:
    ports = cast("Queues", queue)
    relay(ledger=system, queues=ports, publisher=cast("Publisher", queue), seconds=3_600, shards_in_flight=in_flight)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shards", nargs="?", type=int, default=SHARDS)
    parser.add_argument("--tenants", type=int, default=TENANTS)
    parser.add_argument("--workers", type=int, default=WORKERS)
    options = parser.parse_args()
    backlogs = split_backlog(options.shards, options.tenants)
    print(f"{options.shards} shards, {options.workers} workers, {describe_machine()}", flush=True)
    print(f"backlogs: {backlogs}")
    arms = {
        "sent at once, in order": {"has_lines": False},
        "lines, in order": {},
        "lines, any order": {"is_ordered": False},
    }
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres", durable=True)
        server.start()
        try:
            for number, (name, arm) in enumerate(arms.items()):
                database = f"shares_{number}"
                owner = server.create_database(database)
                migrate(owner)
                names = [f"tenant-{place:02d}" for place in range(options.tenants)]
                seeded = seed(owner, tenants=[SeedTenant(name=name) for name in names], models=[MODEL])
                api, worker = (Connections(server.make_dsn(role, database)) for role in (API_ROLE, SYSTEM_ROLE))
                began = time.perf_counter()
                report = measure_shares(
                    PostgresTenantLedger(api),
                    PostgresSystemLedger(worker),
                    [seeded[name] for name in names],
                    backlogs,
                    workers=options.workers,
                    **arm,
                )
                api.close()
                worker.close()
                print(
                    f"{name:24} share {report.share:.1f}, had {list(report.done)}, worst {report.worst:.1%}, at most"
                    f" {report.most_messages} messages in the queue, {time.perf_counter() - began:.0f} s",
                    flush=True,
                )
        finally:
            server.stop()


if __name__ == "__main__":
    main()
