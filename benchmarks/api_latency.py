"""Latency of the API's handler in process: create a job, get a job. `python -m benchmarks.api_latency`.

Real: the resolver with validation, the use cases, Postgres through the API's own role. In memory: the queue that takes
the wake-up. Every call makes a new job (own Idempotency-Key), so the tables grow as they do in production.
"""

from __future__ import annotations

import json
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

from adapters.postgres.connections import Connections
from adapters.postgres.owner.migrate import migrate
from adapters.postgres.owner.seeding import SeedTenant, seed
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.postgres.tenant_ledger import PostgresTenantLedger
from adapters.settings.database_roles import API_ROLE, SYSTEM_ROLE
from adapters.tracing.recording import OpenTelemetryTracer
from adapters.tracing.xray import XRayDaemon
from benchmarks.machine import describe_machine
from lambdas.cold_start import Handler
from lambdas.wiring import ApiWiring, get_utc_now
from local.postgres import EmbeddedPostgres
from tests.fakes.objects import MemoryObjects
from tests.fakes.queues import MemoryQueues
from tests.fakes.slides import MemorySlideStore
from tests.installation import INSPECTION, SCALING
from tests.lambdas.rest import BASE, rest_event, whole_handler
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.identity import Actor, Role
from wsi.records.models import ModelVersion
from wsi.records.slides import SlideFile

CALLS = 2000
WARM_UP = 50
TARGET_P50_MS, TARGET_P99_MS = 10.0, 50.0
DATABASE = "api_latency"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres", durable=True)
        server.start()
        try:
            measure(server)
        finally:
            server.stop()


def measure(server: EmbeddedPostgres) -> None:
    owner = server.create_database(DATABASE)
    migrate(owner)
    model = ModelVersion(
        name=STAIN_DENSITY.name,
        version=STAIN_DENSITY.version,
        digest=STAIN_DENSITY.digest,
        card=STAIN_DENSITY.as_json(),
        package_uri=None,
    )
    tenant = seed(owner, tenants=[SeedTenant(name="hospital")], models=[model])["hospital"]
    actor = Actor(tenant=tenant, subject="user:benchmark", role=Role.ANALYST)
    api, system = (Connections(server.make_dsn(role, DATABASE)) for role in (API_ROLE, SYSTEM_ROLE))
    wiring = ApiWiring(
        ledger=PostgresTenantLedger(api),
        slides=MemorySlideStore(),
        packages=MemorySlideStore("tessera-models"),
        objects=MemoryObjects(),
        queues=MemoryQueues(get_utc_now),
        dollars_per_gpu_hour=0.53,
        scaling=SCALING,
    )
    slide = make_ready_slide(wiring, PostgresSystemLedger(system), actor)
    handler = whole_handler(wiring)

    def call(method: str, path: str, expected: int, **how: object) -> tuple[float, dict]:
        event = rest_event(method, BASE + path, actor=actor, **how)
        began = time.perf_counter()
        answer = handler(event, None)
        elapsed = time.perf_counter() - began
        assert answer["statusCode"] == expected, answer
        return elapsed * 1000, json.loads(answer["body"])

    def create() -> tuple[float, dict]:
        body = {"slide_id": str(slide), "model": model.name}
        return call("POST", "/jobs", 202, body=body, headers={"Idempotency-Key": uuid4().hex})

    for _ in range(WARM_UP):
        create()
    created = [create() for _ in range(CALLS)]
    ids = [job["job_id"] for _, job in created]
    assert len(set(ids)) == CALLS, "every call makes a job"
    got = [call("GET", f"/jobs/{job_id}", 200) for job_id in ids]
    assert [job["job_id"] for _, job in got] == ids
    print(f"{CALLS} calls each, {describe_machine()}")
    report("create job", [elapsed for elapsed, _ in created])
    report("get job", [elapsed for elapsed, _ in got])
    compare_traces(wiring, lambda handler: handler(make_request(actor, slide), None))
    api.close()
    system.close()


def make_request(actor: Actor, slide: UUID) -> dict:
    body = {"slide_id": str(slide), "model": STAIN_DENSITY.name}
    return rest_event("POST", f"{BASE}/jobs", actor=actor, body=body, headers={"Idempotency-Key": uuid4().hex})


def compare_traces(wiring: ApiWiring, create: Callable[[Handler], dict]) -> None:
    """Create jobs in turn without and with traces, which go to a socket as to Lambda's daemon."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        tracer = OpenTelemetryTracer(XRayDaemon(f"127.0.0.1:{daemon.getsockname()[1]}"), in_background=False)
        handlers = {"untraced": whole_handler(wiring), "traced": whole_handler(replace(wiring, tracer=tracer))}
        walls: dict[str, list[float]] = {name: [] for name in handlers}
        cpus: dict[str, list[float]] = {name: [] for name in handlers}
        for _ in range(CALLS // 2):
            for name, handler in handlers.items():
                wall, cpu = time.perf_counter(), time.thread_time()
                assert create(handler)["statusCode"] == 202
                walls[name].append((time.perf_counter() - wall) * 1000)
                cpus[name].append((time.thread_time() - cpu) * 1000)
                if name == "traced":
                    daemon.recv(65_536)
        tracer.close()
    for name in handlers:
        wall, cpu = statistics.median(walls[name]), statistics.median(cpus[name])
        print(f"{name:12} p50 {wall:6.3f} ms   CPU of the call, p50 {cpu:6.3f} ms")
    print(f"{'':12} spans that were lost: {tracer.lost}")


def make_ready_slide(wiring: ApiWiring, system: PostgresSystemLedger, actor: Actor) -> UUID:
    slide_id = uuid4()
    file = SlideFile(name="scan.svs", uri=f"s3://slides/{slide_id}/0", size=1000, etag="e")
    slide = wiring.ledger.register_slide(actor, slide_id, file.name, [file], mpp=None, digest="d")
    assert system.accept_slide(slide.id, INSPECTION.as_json(), "thumbnail.jpeg", version=slide.version)
    return slide.id


def report(what: str, elapsed: list[float]) -> None:
    hundredths = statistics.quantiles(elapsed, n=100)
    p50, p99 = hundredths[49], hundredths[98]
    verdict = "met" if p50 < TARGET_P50_MS and p99 < TARGET_P99_MS else "MISSED"
    target = f"target {TARGET_P50_MS:.0f} / {TARGET_P99_MS:.0f} ms {verdict}"
    quarter = len(elapsed) // 4
    medians = [statistics.median(elapsed[start : start + quarter]) for start in range(0, quarter * 4, quarter)]
    print(f"{what:12} p50 {p50:6.2f} ms   p99 {p99:6.2f} ms   max {max(elapsed):6.2f} ms   {target}")
    # Rising medians would mean that calls slow down as the tables grow; a lone high one, that something disturbed.
    print(f"{'':12} p50 of each quarter, in order: " + ", ".join(f"{median:.2f}" for median in medians))


if __name__ == "__main__":
    main()
