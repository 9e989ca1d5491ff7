"""One stack under the harness: its processes behind proxies, its receiver of webhooks, and SQL as the superuser."""

from __future__ import annotations

import os
import random
import signal
import socket
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from adapters.settings.problems import BASE_PATH
from local.options import DATABASE, StackOptions
from local.postgres import SUPERUSER
from local.stack import Stack
from local.workers import ROOT
from tests.chaos.clock import NO_LIBRARY, Clock, find_library
from tests.chaos.disks import Disks
from tests.chaos.messages import Messages
from tests.chaos.parts import RECEIVER, STAGES, Parts, put_behind
from tests.chaos.proxies.http import HttpProxy
from tests.chaos.proxies.ports import ProxyThread
from tests.chaos.proxies.postgres import PostgresProxy
from tests.chaos.proxies.weather import Weather

WORKERS = ("worker-1", "worker-2")
CLOCK, DISKS = "clock", "disks"  #: what some faults need
#: Nothing that the sweep would send again after long may hide a message that was lost. Postgres is durable: what it
#: confirmed must outlast a crash.
OPTIONS = StackOptions(
    workers=0,
    durable=True,
    shard_tiles=64,
    schedule_seconds=1.0,
    stuck_seconds=80_000.0,
    worker={"lease_seconds": 4.0, "checkpoint_batches": 1, "checkpoint_seconds": 0.2, "decode_workers": 1},
)


@dataclass
class World:
    folder: Path
    seed: int
    root: Path = ROOT
    stack: Stack = field(init=False)
    weather: Weather = field(init=False)
    messages: Messages = field(init=False)
    parts: Parts = field(init=False)
    clock: Clock | None = None  #: of the database's server; None without libfaketime
    disks: Disks = field(default_factory=Disks)
    missing: dict[str, str] = field(default_factory=dict)  #: what the machine lacks, and the line that says so
    _undo: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        options = OPTIONS
        if library := find_library():
            self.clock = Clock(library)
            self._undo.callback(self.clock.remove)
            options = replace(OPTIONS, postgres_environment=self.clock.environment)
        else:
            self.missing[CLOCK] = NO_LIBRARY
        self.stack = Stack(self.folder / "stack", options)
        self._undo.callback(self._remove)
        self.stack.start()
        self.stack.stop_functions()
        self.weather = Weather(random.Random(self.seed))
        self.messages = Messages(self.stack.clients.sqs)
        self._hang_receiver()
        proxies = ProxyThread()
        proxies.start()
        self._undo.callback(proxies.stop)
        own = self.folder / "parts"
        own.mkdir()
        self._undo.callback(self.disks.remove)
        self.parts = Parts(self.stack, own, self.root)
        self._undo.callback(self.parts.stop)
        upstream = int(self.stack.ministack.url.rpartition(":")[2])
        for name in ("api", "relay", "stages", *WORKERS):
            at = put_behind(
                self.stack.addresses,
                http=proxies.open(HttpProxy(name, upstream, self.weather, self.messages.observe).serve),
                postgres=proxies.open(PostgresProxy(name, lambda: self.stack.postgres.port, self.weather).serve),
            )
            match name:
                case "api":
                    self.parts.add_functions(name, at, api=True)
                case "relay":
                    self.parts.add_functions(name, at, queues=("wake",), schedules=True)
                case "stages":
                    self.parts.add_functions(name, at, queues=STAGES)
                case _:
                    self._add_disk(name, self.parts.add_worker(name, at))
        self.parts.keep_alive()

    def _add_disk(self, name: str, scratch: Path) -> None:
        """Give a worker a small disk for its copies of slides, where this process may mount one."""
        if DISKS in self.missing:
            return
        if refusal := self.disks.mount(name, scratch):
            self.missing[DISKS] = f"no disk becomes full, as none can be mounted: {refusal}"

    def stop(self) -> None:
        self._undo.close()

    def _remove(self) -> None:
        self.stack.stop()
        self.stack.postgres.remove()

    def _hang_receiver(self) -> None:
        """A receiver of webhooks that takes connections and never says a word."""
        listener = socket.create_server((RECEIVER, 8443), backlog=100)
        self._undo.callback(listener.close)

    @property
    def api_url(self) -> str | None:
        """The API's address; None while it is not served."""
        with suppress(FileNotFoundError):
            return self.parts.ready.read_text() + BASE_PATH
        return None

    def sql(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Ask as the superuser, who sees all tenants. Waits for a server that starts."""
        end = time.monotonic() + 20
        while True:
            try:
                dsn = self.stack.postgres.make_dsn(SUPERUSER, DATABASE)
                with psycopg.connect(dsn, row_factory=dict_row, connect_timeout=5) as connection:
                    cursor = connection.execute(query.encode(), values)
                    return cursor.fetchall() if cursor.description else []
            except psycopg.Error:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def restart_postgres(self, *, crash: bool) -> None:
        """Restart Postgres, politely or as after a crash."""
        if crash:
            pid = int((self.stack.postgres.log.parent / "postmaster.pid").read_text().split()[0])
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGQUIT)
            end = time.monotonic() + 10
            while self.stack.postgres.is_running and time.monotonic() < end:
                time.sleep(0.05)
        else:
            self.stack.postgres.stop()
        self.stack.postgres.start()
