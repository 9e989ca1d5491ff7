"""Adds and plans with models as processes of another release do, on a database of today, and prints what they found as
JSON. Only modules of one release are imported: `tools.release_fixtures.checkout.make_command` starts it so.

Its argument is a JSON file: the DSNs `api` and `system`, two `tenants`, a `slide` of the first with its
`slide_version`, a `job` to plan, the `digest` of the installation's model `shared`, and a `message` that asks for a
trial.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from adapters.postgres.connections import Connections
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.postgres.tenant_ledger import PostgresTenantLedger
from gpu_worker.trials.trial_messages import parse_registration
from wsi import keys
from wsi.errors import TesseraError
from wsi.records.identity import Actor, Role
from wsi.records.jobs import JobOptions, NewJob
from wsi.records.models import ModelVersion
from wsi.records.notices import QueueMessage
from wsi.records.registrations import ModelMeasurements, NewRegistration, PackageFile


def work(given: dict[str, Any]) -> dict[str, Any]:
    api, worker = Connections(given["api"]), Connections(given["system"])
    tenants, system = PostgresTenantLedger(api), PostgresSystemLedger(worker)
    first, second = (Actor(tenant=UUID(one), subject="user:x", role=Role.ADMIN) for one in given["tenants"])
    try:
        return {
            "listed": [model.name for model in tenants.list_models()],
            "added": [add(actor, tenants, system) for actor in (first, second)],
            "seen": [model.name for model in tenants.list_models()],
            "submitted": submit(first, given, tenants),
            "planned": plan(UUID(given["job"]), system),
            "tries": parse_registration(QueueMessage(body=given["message"], receipt="", receives=1, traceparent=None)),
        }
    finally:
        api.close()
        worker.close()


def add(actor: Actor, tenants: PostgresTenantLedger, system: PostgresSystemLedger) -> bool:
    id_ = uuid4()
    place = f"s3://models/{keys.PACKAGES}{id_}/"
    file = PackageFile(name="card.json", size=1, sha256="0" * 64, uri=f"{place}card.json", upload_id="u")
    wanted = NewRegistration(id=id_, name="older", version="1", files=(file,), becomes_default=False)
    opened, _ = tenants.open_registration(actor, wanted)
    assert tenants.complete_registration(actor, opened.id) is not None
    assert system.begin_trial(opened.id)
    digest = actor.tenant.hex * 2
    model = ModelVersion(name="older", version="1", digest=digest, card={}, package_uri=place)
    measured = ModelMeasurements(device="CPU", tiles_per_second=1.0, load_seconds=1.0, memory_bytes=1)
    return system.accept_model(opened.id, model, measured)


def submit(actor: Actor, given: dict[str, Any], tenants: PostgresTenantLedger) -> list[str]:
    """The outcome for the installation's model, for the tenant's own, and for one that another tenant has."""
    outcomes = []
    own = actor.tenant.hex * 2
    older = next(one for one in tenants.list_models() if one.digest == own)
    theirs = next(one for one in tenants.list_models() if one.name.endswith("older") and one.digest != own)
    for name, version, digest in (
        ("shared", "1", given["digest"]),
        (older.name, older.version, older.digest),
        (theirs.name, theirs.version, theirs.digest),
    ):
        job = NewJob(
            id=uuid4(),
            slide_id=UUID(given["slide"]),
            slide_version=given["slide_version"],
            model=name,
            model_version=version,
            model_digest=digest,
            options=JobOptions(),
            identity=uuid4().hex,
            traceparent="",
        )
        try:
            outcomes.append(tenants.submit_job(actor, job, idempotency=None, reuse_finished=False).job.state)
        except TesseraError as error:
            outcomes.append(error.code)
    return outcomes


def plan(job: UUID, system: PostgresSystemLedger) -> str | None:
    brief = system.begin_planning(job)
    return None if brief is None else brief.model.digest


if __name__ == "__main__":
    sys.stdout.write(json.dumps(work(json.loads(Path(sys.argv[1]).read_text()))))
