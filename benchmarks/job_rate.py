"""New jobs at a steady rate: how long the API's function takes for each, in process, on a real Postgres.

    python -m benchmarks.job_rate [--rate 200] [--seconds 60] [--processes 8] [--as-behind-proxy]

Requests come at fixed times, whether or not the ones before were answered (an open loop), so that a slow answer delays
those behind it and counts for them. All of them are different jobs, of two tenants in turn. The database keeps its data
(fsync). Each process has one connection and one request at a time, as each running Lambda has. Statements are prepared,
as on the embedded stack; `--as-behind-proxy` does without, as on AWS.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from multiprocessing.context import ForkContext
from pathlib import Path
from typing import Any

import psycopg

from adapters.postgres.owner.migrate import migrate
from benchmarks.machine import describe_machine
from local.postgres import SUPERUSER, EmbeddedPostgres
from tests.adapters.postgres.world import PostgresWorld
from tests.postgres import Database
from tests.security.two_tenants import TwoTenants
from wsi.models.builtin import STAIN_DENSITY

WARM_UP = 200  #: requests that are not counted
EDGE = 512  #: level-0 pixels of a job's region


@dataclass(frozen=True, slots=True)
class Answered:
    """One request; its times are seconds of one clock."""

    status: int
    due: float
    called: float
    ended: float


@dataclass(frozen=True, slots=True)
class Worked:
    """One process: its answers and its CPU time."""

    answers: list[Answered]
    cpu_seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--as-behind-proxy", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres", durable=True)
        server.start()
        try:
            migrate(server.create_database("rate"))
            world = PostgresWorld(Database("rate", server), prepares=not options.as_behind_proxy)
            tenants = TwoTenants(world)
            for number in range(WARM_UP):
                ask(tenants, number)
            world.close()  # each process opens a connection of its own
            print(f"{options.rate:.0f} jobs a second for {options.seconds:.0f} s, {describe_machine()}", flush=True)
            measure(tenants, server, options.rate, options.seconds, options.processes)
        finally:
            server.stop()


def ask(tenants: TwoTenants, number: int) -> int:
    """Ask for a job that nobody has asked for, and return the status of the answer."""
    by = (tenants.first, tenants.second)[number % 2]
    region = [number % 19_000, number // 19_000, EDGE, EDGE]
    body = json.dumps({"slide_id": by.ids["slide_id"], "model": STAIN_DENSITY.name, "region": region})
    return tenants.ask(by.actor, "post", "/api/v1/wsi/jobs", query={}, body=body).status


def measure(tenants: TwoTenants, server: EmbeddedPostgres, rate: float, seconds: float, processes: int) -> None:
    forking: ForkContext = multiprocessing.get_context("fork")  # what main() built is theirs, without a second copy
    total = int(rate * seconds)
    begins = time.perf_counter() + 1.0
    counter = forking.Value("q", 0)

    def work(sent: Any) -> None:
        ask(tenants, WARM_UP + total + multiprocessing.current_process()._identity[0])  # opens the connection
        answers: list[Answered] = []
        cpu = time.process_time()
        while True:
            with counter.get_lock():
                number = counter.value
                counter.value += 1
            if number >= total:
                break
            due = begins + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            called = time.perf_counter()
            status = ask(tenants, WARM_UP + number)
            answers.append(Answered(status, due, called, time.perf_counter()))
        sent.send(Worked(answers, time.process_time() - cpu))

    pipes = [forking.Pipe(duplex=False) for _ in range(processes)]
    working = [forking.Process(target=work, args=(sent,)) for _, sent in pipes]
    for process in working:
        process.start()
    most = 0
    with psycopg.connect(server.make_dsn(SUPERUSER, "rate"), autocommit=True) as connection:
        while not all(received.poll() for received, _ in pipes):
            row = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE usename = 'tessera_api'").fetchone()
            most = max(most, row[0] if row else 0)
            time.sleep(0.5)
            assert all(process.exitcode in (None, 0) for process in working), "a process ended by itself"
    done: list[Worked] = [received.recv() for received, _ in pipes]
    answers = [answer for worked in done for answer in worked.answers]
    statuses = dict(Counter(answer.status for answer in answers))
    took = max(answer.ended for answer in answers) - begins
    print(f"answers: {statuses}; {len(answers) / took:.1f} a second; at most {most} connections")
    print(f"from its call to its answer: {describe([answer.ended - answer.called for answer in answers])}")
    print(f"from its time to its answer: {describe([answer.ended - answer.due for answer in answers])}")
    print(f"CPU of the functions: {sum(worked.cpu_seconds for worked in done) / total * 1000:.1f} ms a request")


def describe(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return ", ".join(
        f"p{share * 100:g} {ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000:.1f} ms"
        for share in (0.5, 0.95, 0.99, 1.0)
    )


if __name__ == "__main__":
    main()
