"""New jobs at a steady rate: how long the API's function takes for each, in process, on a real Postgres.

    python -m benchmarks.job_rate [--rate 200] [--seconds 60] [--threads 16]

Requests come at fixed times, whether or not the ones before were answered (an open loop), so that a slow answer delays
those behind it and counts for them. All of them are different jobs, of two tenants in turn. The database keeps its data
(fsync), and each thread has one connection, as each running Lambda has.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections import Counter
from itertools import count
from pathlib import Path

import psycopg

from adapters.postgres.owner.migrate import migrate
from benchmarks.api_latency import describe_machine
from local.postgres import SUPERUSER, EmbeddedPostgres
from tests.adapters.postgres.world import PostgresWorld
from tests.postgres import Database
from tests.security.two_tenants import TwoTenants
from wsi.models.builtin import STAIN_DENSITY

WARM_UP = 200  #: requests that are not counted
EDGE = 512  #: level-0 pixels of a job's region


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres", durable=True)
        server.start()
        try:
            migrate(server.create_database("rate"))
            world = PostgresWorld(Database("rate", server))
            tenants = TwoTenants(world)
            for number in range(WARM_UP):
                ask(tenants, number)
            print(f"{options.rate:.0f} jobs a second for {options.seconds:.0f} s, {describe_machine()}", flush=True)
            measure(tenants, server, options.rate, options.seconds, options.threads)
            world.close()
        finally:
            server.stop()


def ask(tenants: TwoTenants, number: int) -> int:
    """Ask for a job that nobody has asked for, and return the status of the answer."""
    by = (tenants.first, tenants.second)[number % 2]
    region = [number % 19_000, number // 19_000, EDGE, EDGE]
    body = json.dumps({"slide_id": by.ids["slide_id"], "model": STAIN_DENSITY.name, "region": region})
    return tenants.ask(by.actor, "post", "/api/v1/wsi/jobs", query={}, body=body).status


def measure(tenants: TwoTenants, server: EmbeddedPostgres, rate: float, seconds: float, threads: int) -> None:
    numbers = count(WARM_UP)
    total = int(rate * seconds)
    began = time.perf_counter() + 0.5
    waited: list[float] = []
    served: list[float] = []
    statuses: Counter[int] = Counter()
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number = next(numbers)
            if number - WARM_UP >= total:
                return
            due = began + (number - WARM_UP) / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            start = time.perf_counter()
            status = ask(tenants, number)
            end = time.perf_counter()
            with lock:
                statuses[status] += 1
                served.append(end - start)
                waited.append(end - due)

    cpu = time.process_time()
    working = [threading.Thread(target=work) for _ in range(threads)]
    for thread in working:
        thread.start()
    most = 0
    with psycopg.connect(server.make_dsn(SUPERUSER, "rate"), autocommit=True) as connection:
        while any(thread.is_alive() for thread in working):
            row = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE usename = 'tessera_api'").fetchone()
            most = max(most, row[0] if row else 0)
            time.sleep(0.5)
    took = time.perf_counter() - began
    print(f"answers: {dict(statuses)}; {total / took:.1f} a second; at most {most} connections")
    print(f"from its call to its answer: {describe(served)}")
    print(f"from its time to its answer: {describe(waited)}")
    print(f"CPU of this process: {(time.process_time() - cpu) / total * 1000:.1f} ms a request")


def describe(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return ", ".join(
        f"p{share * 100:g} {ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000:.1f} ms"
        for share in (0.5, 0.95, 0.99, 1.0)
    )


if __name__ == "__main__":
    main()
