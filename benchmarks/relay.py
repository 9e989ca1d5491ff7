"""The relay's rows a second on a real Postgres, with sends that take 25 ms.

    python -m benchmarks.relay [ROWS] [--before COMMIT]

An invocation is a process that is killed after the function's timeout, as Lambda does it; the next one finds that the
claims of the killed one ran out. Senders sleep, and note each row in a file: rows that go twice are counted whatever
dies. `--before` runs `wsi/notices/outbox.py` of a commit from before the relay knew its time, on the same rows. The
arms by HTTP send through the adapters of SQS and AppSync to a server on this machine that answers after 25 ms: their
CPU seconds are what the function's memory has to pay for.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import types
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg.types.json import Jsonb

from adapters.appsync import AppSyncPublisher
from adapters.aws_clients import AwsClients
from adapters.postgres.connections import Connections
from adapters.postgres.owner.migrate import migrate
from adapters.postgres.owner.seeding import SeedTenant, seed
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.settings.database_roles import SYSTEM_ROLE
from adapters.settings.functions import TIMEOUTS
from adapters.sqs import SqsQueues
from benchmarks.machine import describe_machine
from local.ports import choose_free_port
from local.postgres import SUPERUSER, EmbeddedPostgres
from tests.updates import any_update
from wsi.notices.outbox import relay
from wsi.records.notices import JobUpdate, OutgoingMessage

SEND_SECONDS = 0.025
ROWS = 3000
TIMEOUT = TIMEOUTS["relay"]
#: Topics of the rows, in turn: updates of subscribers alone, where each row is a send; or with a job's messages.
MIXES: Mapping[str, tuple[str, ...]] = {
    "pushes": ("push",),
    "a job's rows": ("push", "plan", "push", "shards-normal", "shards-normal", "push", "push", "stitch", "push"),
}
UPDATES_A_JOB = 5
DATABASE = "relay"
Run = Callable[[str, Path], None]  #: one invocation, on the database of this DSN and with this file of sent rows


@dataclass
class SlowSender:
    """Queues and publisher whose every call takes SEND_SECONDS. `slide_id` names the row in the file."""

    file: Path

    def send(self, queue: str, body: Mapping[str, Any], *, group: str, traceparent: str) -> None:
        self.note([body["slide_id"]])

    def send_batch(self, queue: str, messages: Sequence[OutgoingMessage]) -> Mapping[int, str]:
        self.note([message.body["slide_id"] for message in messages])
        return {}

    def publish(self, update: JobUpdate) -> None:
        self.note([update.slide_id])

    def note(self, names: Sequence[str]) -> None:
        time.sleep(SEND_SECONDS)
        with self.file.open("ab", buffering=0) as file:
            file.write("".join(f"{name}\n" for name in names).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=ROWS)
    parser.add_argument("--before", help="a commit whose relay is measured too")
    options = parser.parse_args()
    runs: dict[str, Run] = {"before": run_commit(options.before)} if options.before else {}
    runs["now"] = run_now
    port = choose_free_port()
    runs["now, by HTTP"] = run_through_adapters(port)
    print(f"sends of {SEND_SECONDS * 1000:.0f} ms, invocations of {TIMEOUT} s, {describe_machine()}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres", durable=True)
        server.start()
        services = multiprocessing.get_context("fork").Process(target=serve, args=(port, Path(folder) / "sent"))
        services.start()
        try:
            for name, run in runs.items():
                for mix, topics in MIXES.items():
                    measure(server, f"{name}, {mix}", run, topics, options.rows, Path(folder) / "sent")
        finally:
            services.kill()
            server.stop()


def measure(server: EmbeddedPostgres, name: str, run: Run, topics: Sequence[str], rows: int, sent: Path) -> None:
    """Run invocations until the outbox is empty, and print what they did."""
    database = f"{DATABASE}_{uuid4().hex[:8]}"
    owner = server.create_database(database)
    migrate(owner)
    tenant = seed(owner, tenants=[SeedTenant(name="hospital")])["hospital"]
    dsn = server.make_dsn(SYSTEM_ROLE, database)
    fill(dsn, tenant, topics, rows)
    sent.write_bytes(b"")
    superuser = server.make_dsn(SUPERUSER, database)
    before = read_cost(superuser)
    seconds: list[float] = []
    killed = 0
    cpu = os.times()
    while count_unsent(superuser):
        began = time.perf_counter()
        killed += invoke(run, dsn, sent)
        seconds.append(time.perf_counter() - began)
        with psycopg.connect(superuser) as connection:  # a minute passes, and with it the claims of a killed run
            connection.execute("UPDATE outbox SET claimed_until = NULL WHERE sent_at IS NULL")
    used = os.times().children_user + os.times().children_system - cpu.children_user - cpu.children_system
    after = read_cost(superuser)
    counts = Counter(sent.read_text().split())
    assert len(counts) == rows, f"{rows - len(counts)} rows never went"
    twice = sum(count - 1 for count in counts.values())
    print(
        f"{name:28} {rows} rows: {rows / sum(seconds):7.1f} rows/s, {len(seconds)} invocations of"
        f" {', '.join(f'{one:.1f}' for one in seconds)} s, {killed} killed; {twice} rows went twice;"
        f" {(after[0] - before[0]) / rows:.3f} transactions and {(after[1] - before[1]) / rows:.0f} bytes of WAL a row;"
        f" {used / rows * 1000:.2f} ms CPU a row"
    )


def invoke(run: Run, dsn: str, sent: Path) -> bool:
    """Run one invocation in a process of its own. Return whether it had to be killed."""
    process = multiprocessing.get_context("fork").Process(target=run, args=(dsn, sent))
    process.start()
    process.join(TIMEOUT)
    is_late = process.is_alive()
    if is_late:
        process.kill()
    process.join()
    assert is_late or process.exitcode == 0, "the relay failed"
    return is_late


def run_now(dsn: str, sent: Path) -> None:
    sender = SlowSender(sent)
    relay(ledger=make_ledger(dsn), queues=sender, publisher=sender, seconds=TIMEOUT, shards_in_flight=12)  # type: ignore[arg-type]


def run_commit(commit: str) -> Run:
    """Return the relay of another commit as an invocation."""
    source = subprocess.run(
        ["git", "show", f"{commit}:wsi/notices/outbox.py"], check=True, capture_output=True, text=True
    ).stdout
    module = types.ModuleType("outbox_before")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(compile(source, "outbox_before.py", "exec"), module.__dict__)

    def run(dsn: str, sent: Path) -> None:
        sender = SlowSender(sent)
        module.relay(ledger=make_ledger(dsn), queues=sender, publisher=sender)

    return run


def run_through_adapters(port: int) -> Run:
    """Return an invocation that sends by SqsQueues and AppSyncPublisher: signed and parsed, but not encrypted."""

    def run(dsn: str, sent: Path) -> None:
        os.environ.update(AWS_ACCESS_KEY_ID="benchmark", AWS_SECRET_ACCESS_KEY="benchmark")
        url = f"http://127.0.0.1:{port}"
        clients = AwsClients("eu-central-1", url)
        queues, publisher = SqsQueues(clients, "tessera-"), AppSyncPublisher(clients, f"{url}/graphql")
        relay(ledger=make_ledger(dsn), queues=queues, publisher=publisher, seconds=TIMEOUT, shards_in_flight=12)

    return run


def serve(port: int, sent: Path) -> None:
    """Answer as SQS and AppSync would, each call after SEND_SECONDS."""
    sender = SlowSender(sent)

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # headers and body in one packet

        def do_POST(self) -> None:
            said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer: dict[str, Any] = {"data": {}}
            if "variables" in said:
                sender.note([said["variables"]["slideId"]])
            elif "Entries" in said:
                sender.note([json.loads(entry["MessageBody"])["slide_id"] for entry in said["Entries"]])
                answer = {"Successful": [{"Id": entry["Id"]} for entry in said["Entries"]], "Failed": []}
            else:
                answer = {"QueueUrl": f"http://127.0.0.1:{port}/1/{said['QueueName']}"}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # connections of all threads come at once

    Server(("127.0.0.1", port), Answers).serve_forever()


def make_ledger(dsn: str) -> PostgresSystemLedger:
    return PostgresSystemLedger(Connections(dsn))


def fill(dsn: str, tenant: object, topics: Sequence[str], rows: int) -> None:
    with psycopg.connect(dsn) as connection:
        connection.cursor().executemany(
            "INSERT INTO outbox (tenant, topic, body, traceparent) VALUES (%s, %s, %s, %s)",
            [
                (
                    tenant,
                    topics[n % len(topics)],
                    Jsonb(any_update(job_id=f"job-{n // UPDATES_A_JOB}", slide_id=f"row-{n}").as_json()),
                    f"00-{uuid4().hex}-{uuid4().hex[:16]}-01",
                )
                for n in range(rows)
            ],
        )


def count_unsent(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        [[count]] = connection.execute("SELECT count(*) FROM outbox WHERE sent_at IS NULL").fetchall()
    return count


def read_cost(dsn: str) -> tuple[int, int]:
    """Return the transactions of the database so far, and the bytes of write-ahead log of the server."""
    with psycopg.connect(dsn) as connection:
        connection.execute("SELECT pg_stat_clear_snapshot()")
        [[transactions, log]] = connection.execute(
            """
            SELECT xact_commit, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint
            FROM pg_stat_database WHERE datname = current_database()
            """
        ).fetchall()
    return transactions, log


if __name__ == "__main__":
    main()
