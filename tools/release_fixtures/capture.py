"""Runs the embedded stack of a release, and writes what it leaves behind into a folder. Only modules of that release
are imported: `tools.release_fixtures.checkout.make_command` starts it so.

The release is left in the middle of its work: a finished job; one whose worker was killed after a checkpoint; one that
is planned, and one that waits for its plan; a slide that waits for its inspection; an admin's model package that a
worker has tested.
"""

from __future__ import annotations

import json
import lzma
import os
import signal
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from adapters.postgres.connections import Connections
from adapters.postgres.moves import lock_job, wake_stage
from adapters.postgres.system_ledger import PostgresSystemLedger
from local.options import DATABASE, MODELS, RESULTS, SHARED, StackOptions
from local.postgres import SUPERUSER
from local.stack import Stack
from tessera.api.rest import RemoteJob, RemoteSlide
from tests.inference.packages import write_package
from tests.slides import write_svs
from tests.stack.lab import Lab, eventually

TILE = 256
SHARD_TILES = 96  #: three batches of 32 tiles, so that a checkpoint can be of a third
#: Of secrets, and of nothing that a later release reads.
LEFT_OUT = ("alembic_version", "api_keys", "webhook_secrets", "idempotency_keys")
AUDIT = "audit_"  #: tables of lines and of their chain: none of use without the others
NOT_READ = "thumbnail.jpeg"  #: half of all bytes
XZ = ".xz"  #: slides are stored so: their tiles repeat
ATTEMPTS = 8

OPTIONS = StackOptions(
    workers=0,
    durable=False,
    shard_tiles=SHARD_TILES,
    worker={"checkpoint_batches": 1, "checkpoint_seconds": 0.01, "decode_workers": 1},
)


def write_fixtures(out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(Path(folder) / "stack", OPTIONS)
        stack.start()
        lab = Lab(stack)
        try:
            jobs = run_release(lab, Path(folder))
            write_rows(stack, out, jobs)
            write_objects(stack, out)
        finally:
            lab.transport.close()
            stack.stop()
            stack.postgres.remove()


def run_release(lab: Lab, folder: Path) -> dict[str, str]:
    """Have the release work up to the middle; return the ids of what it works on."""
    slide = wait_for_inspection(lab, register(lab, write_slide(folder / "slide.svs", columns=16, rows=18)))
    number = lab.stack.workers.start()
    add_package(lab, write_package(folder / "package"))
    terms = {
        "priority": "high",
        "notify": {"email": "pathologist@first.example"},
        "label": "finished by the last release",
    }
    finished = lab.wait(submit(lab, slide, **terms))
    lab.stack.workers.stop(number)
    killed = leave_killed(lab, slide)
    planned = submit(lab, slide, priority="low", label="planned by the last release")
    eventually(lambda: is_sent(lab, planned), seconds=60, what="the messages of shards")
    stop_functions(lab.stack)
    queued = submit(lab, slide, model="package", priority="low")
    send_to_heavy(lab.stack, finished)
    waiting = register(lab, write_slide(folder / "waiting.svs", columns=2, rows=2))
    return {
        "finished": finished.job_id,
        "killed": killed.job_id,
        "planned": planned.job_id,
        "queued": queued.job_id,
        "slide": slide.slide_id,
        "waiting_slide": waiting,
    }


def write_slide(path: Path, *, columns: int, rows: int) -> Path:
    width, height = columns * TILE, rows * TILE
    return write_svs(path, width=width, height=height, levels=(1, 4), tissue=(0, 0, width, height), quality=30, pool=2)


def register(lab: Lab, path: Path) -> str:
    """Register a slide by reference, and return its id. The ETag of a simple PUT, which plans name, is the MD5 of the
    bytes; one of an upload in parts could not be restored."""
    lab.stack.clients.s3.put_object(Bucket=SHARED, Key=path.name, Body=path.read_bytes())
    return lab.api.register_slide(f"s3://{SHARED}/{path.name}")


def wait_for_inspection(lab: Lab, slide_id: str) -> RemoteSlide:
    def find_ready() -> RemoteSlide | None:
        slide = lab.api.get_slide(slide_id)
        return slide if slide.status == "READY" else None

    return eventually(find_ready, seconds=60, what="inspection")


def submit(lab: Lab, slide: RemoteSlide, *, model: str = "stain-density", **fields: Any) -> RemoteJob:
    body = {"slide_id": slide.slide_id, "model": model, "force": True, **fields}
    answer = lab.transport.call("POST", "/jobs", body=body, repeatable=False)
    return lab.api.get_job(answer["job_id"])


def add_package(lab: Lab, package: Path) -> None:
    from typer.testing import CliRunner

    from tessera.cli import app

    where = ("--api", lab.stack.api_url, "--api-key", lab.stack.admin_api_key)
    added = CliRunner().invoke(app, ["models", "add", str(package), "--name", "package", "--version", "1", *where])
    if added.exit_code:
        raise RuntimeError(f"The release refused its own package:\n{added.output}")


def leave_killed(lab: Lab, slide: RemoteSlide) -> RemoteJob:
    """Return a job whose worker was killed while it held a lease, after a checkpoint and before the shard's end."""
    for _ in range(ATTEMPTS):
        job = submit(lab, slide, label="left by a worker that was killed")
        number = lab.stack.workers.start()
        pid = lab.stack.workers.pids[number]
        eventually(lambda: find_checkpoint(lab, job), seconds=60, what="a checkpoint")  # noqa: B023
        os.kill(pid, signal.SIGSTOP)
        found = find_checkpoint(lab, job)
        lab.stack.workers.kill(number)
        if found is not None:
            return job
        lab.cancel(job)
    raise RuntimeError(f"The worker finished its shard before it could be stopped, {ATTEMPTS} times.")


def find_checkpoint(lab: Lab, job: RemoteJob) -> dict[str, Any] | None:
    query = "SELECT * FROM shards WHERE job_id = %s AND state = 'RUNNING' AND tiles_done BETWEEN 1 AND tiles - 1"
    return next(iter(lab.sql(query, job.job_id)), None)


def is_sent(lab: Lab, job: RemoteJob) -> bool:
    """Return whether the job has shards, and all of its messages are sent."""
    query = "SELECT sent_at FROM outbox WHERE body ->> 'job_id' = %s AND topic = 'shards-low'"
    rows = lab.sql(query, job.job_id)
    return bool(rows) and all(row["sent_at"] for row in rows)


def stop_functions(stack: Stack) -> None:
    """Stop what wakes functions, so that messages stay in the outbox."""
    waking = (*stack.pollers.values(), *stack.schedules)
    for one in waking:
        one.ask_to_stop()
    for one in waking:
        one.join()


def send_to_heavy(stack: Stack, job: RemoteJob) -> None:
    """Write the message of a heavy plan, which only a slide of gigapixels gets by itself."""
    connections = Connections(stack.addresses.system_dsn)
    try:
        with PostgresSystemLedger(connections)._transaction() as cursor:
            locked = lock_job(cursor, UUID(job.job_id))
            assert locked is not None
            wake_stage(cursor, locked, "heavy")
    finally:
        connections.close()


def write_rows(stack: Stack, out: Path, jobs: dict[str, str]) -> None:
    with psycopg.connect(stack.postgres.make_dsn(SUPERUSER, DATABASE), row_factory=dict_row) as connection:
        tables = [
            row["table_name"]
            for row in connection.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name"
            )
        ]
        rows = {
            table: [
                row["value"]
                for row in connection.execute(
                    sql.SQL("SELECT row_to_json(t) AS value FROM {} t ORDER BY 1::text").format(sql.Identifier(table))
                )
            ]
            for table in tables
            if table not in LEFT_OUT and not table.startswith(AUDIT)
        }
        revision = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    assert revision is not None
    left = {"captured_at": datetime.now(UTC).isoformat(), "revision": revision["version_num"], **jobs}
    (out / "left.json").write_text(json.dumps(left, indent=1) + "\n")
    (out / "rows.json").write_text(json.dumps(rows, indent=1) + "\n")


def write_objects(stack: Stack, out: Path) -> None:
    s3 = stack.clients.s3
    for bucket in (SHARED, RESULTS, MODELS):
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            for item in page.get("Contents", ()):
                if item["Key"].endswith(NOT_READ):
                    continue
                data = s3.get_object(Bucket=bucket, Key=item["Key"])["Body"].read()
                is_slide = bucket == SHARED
                target = out / "objects" / bucket / (item["Key"] + (XZ if is_slide else ""))
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(lzma.compress(data, preset=9) if is_slide else data)


if __name__ == "__main__":
    write_fixtures(Path(sys.argv[1]))
