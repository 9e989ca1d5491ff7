"""What tenants ask for meanwhile: jobs of each priority over generated slides, some equal, some cancelled."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from adapters.postgres.owner.administration import Administration
from adapters.settings.database_roles import OWNER
from local.access import FIRST, SECOND
from local.options import DATABASE, SHARED
from tessera.api.rest import Api, RemoteSlide
from tessera.api.transport import Transport
from tests.chaos.world import World
from tests.slides import write_svs
from tests.slides.scn import write_scn
from tests.stack.lab import eventually
from wsi.errors import Conflict, NotFound, SourceUnavailable, TooManyRequests
from wsi.records.jobs import JobTerms, Priority
from wsi.sources.source import Source
from wsi.states import JobState, SlideState

Answer = TypeVar("Answer")
TILES = {"broad": (16, 12), "narrow": (8, 8)}  #: columns and rows of model tiles: three shards, and one
COPIED = "copied"  #: the slide that only OpenSlide reads: each worker copies it to its disk first
MOST_LIVE = 16  #: jobs at a time: what waits when the faults end is done within the calm time
WEBHOOK = "https://receiver.example:8443/hook"


@dataclass
class Tenant:
    """A client of one tenant, who asks again when the API does not answer."""

    name: str
    key: str
    world: World
    stopping: threading.Event
    slides: dict[str, str] = field(default_factory=dict)  #: ids by kind
    jobs: dict[str, str] = field(default_factory=dict)  #: the kind of slide by id of the job
    cancelled: set[str] = field(default_factory=set)
    keys: dict[str, str] = field(default_factory=dict)  #: ids of jobs by Idempotency-Key

    def ask(self, call: Callable[[Api], Answer]) -> Answer:
        while True:
            if url := self.world.api_url:
                transport = Transport(url, self.key, timeout=10.0)
                try:
                    return call(Api(transport))
                except (SourceUnavailable, TooManyRequests):
                    pass  # the next try may find a new process at another port
                finally:
                    transport.close()
            self.stopping.wait(0.3)

    def register(self, kind: str, uri: str) -> None:
        self.slides[kind] = self.ask(lambda api: api.register_slide(uri))

    def await_slides(self, seconds: float) -> None:
        def ready() -> bool:
            found: list[RemoteSlide] = [
                self.ask(lambda api, one=one: api.get_slide(one)) for one in self.slides.values()
            ]
            return all(slide.status == SlideState.READY for slide in found)

        eventually(ready, seconds=seconds, what="inspected slides")

    def submit(self, kind: str, number: int, *, priority: Priority, force: bool, notified: bool = False) -> str:
        key = str(UUID(int=number, version=4))
        terms = JobTerms(priority=priority, notify_webhook=WEBHOOK if notified else None)
        job = self.ask(
            lambda api: api.submit_job(
                self.slides[kind], "stain-density", idempotency_key=key, terms=terms, force=force
            )
        )
        self.jobs[job.job_id] = kind
        self.keys[key] = job.job_id
        return job.job_id

    def cancel(self, job: str) -> None:
        try:
            self.ask(lambda api: api._transport.call("POST", f"/jobs/{job}/cancel", repeatable=True))
        except Conflict:
            return  # it was faster
        self.cancelled.add(job)

    def list_jobs(self) -> set[str]:
        return {row["job_id"] for row in self.ask(lambda api: list(api._pages("/jobs")))}

    def sees(self, job: str) -> bool:
        try:
            self.ask(lambda api: api.get_job(job))
        except NotFound:
            return False
        return True


@dataclass
class Load:
    world: World
    seed: int
    pause: float  #: s between two jobs of a tenant
    tenants: tuple[Tenant, ...] = ()
    stopping: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def prepare(self, folder: Path) -> dict[str, str]:
        """Register each tenant's slides and run each once while all is calm. Return those jobs by kind, of the first
        tenant: their bytes are what all others must give."""
        stack = self.world.stack
        keys = {FIRST: stack.api_key, SECOND: stack.other_api_key}
        self.tenants = tuple(Tenant(name, key, self.world, self.stopping) for name, key in keys.items())
        owner = Administration(lambda: stack.postgres.make_dsn(OWNER, DATABASE))
        for name in keys:
            owner.add_source(name, Source(SHARED))
        for seed, (kind, (columns, rows)) in enumerate(TILES.items()):
            width, height = columns * 256, rows * 256
            path = write_svs(
                folder / f"{kind}.svs",
                width=width,
                height=height,
                levels=(1, 4),
                tissue=(0, 0, width, height),
                seed=seed,
            )
            self._add_slide(kind, path)
        self._add_slide(COPIED, write_scn(folder / f"{COPIED}.scn"))
        calm: dict[str, str] = {}
        for tenant in self.tenants:
            tenant.await_slides(90)
            for number, kind in enumerate(tenant.slides):
                calm[kind] = tenant.submit(kind, number, priority=Priority.NORMAL, force=True)

        def done() -> bool:
            states = {row["state"] for row in self.world.sql("SELECT state FROM jobs")}
            return states == {JobState.COMPLETED.value}

        eventually(done, seconds=120, what="the calm run")
        return calm

    def _add_slide(self, kind: str, path: Path) -> None:
        self.world.stack.clients.s3.put_object(Bucket=SHARED, Key=path.name, Body=path.read_bytes())
        for tenant in self.tenants:
            tenant.register(kind, f"s3://{SHARED}/{path.name}")

    def start(self) -> None:
        for place, tenant in enumerate(self.tenants):
            thread = threading.Thread(target=self._ask_for_jobs, args=(tenant, random.Random(self.seed + place)))
            thread.start()
            self._threads.append(thread)

    def stop(self, keep_alive: Callable[[], object]) -> None:
        """Stop asking for jobs. Requests on their way ask until an API answers, which may have to be started again."""
        self.stopping.set()
        for thread in self._threads:
            while thread.is_alive():
                keep_alive()
                thread.join(0.1)

    def _ask_for_jobs(self, tenant: Tenant, chance: random.Random) -> None:
        number = 1000
        try:
            while not self.stopping.wait(self.pause * chance.uniform(0.5, 1.5)):
                if (
                    self.world.sql("SELECT count(*) AS live FROM jobs WHERE finished_at IS NULL")[0]["live"]
                    >= MOST_LIVE
                ):
                    continue
                number += 1
                kind, priority = chance.choice(sorted(tenant.slides)), chance.choice(list(Priority))
                is_notified = chance.random() < 0.1
                is_equal, is_cancelled = chance.random() < 0.15, chance.random() < 0.15
                job = tenant.submit(kind, number, priority=priority, force=not is_equal, notified=is_notified)
                if is_cancelled and not is_equal and not self.stopping.wait(chance.uniform(0, 2)):
                    tenant.cancel(job)
                if chance.random() < 0.1 and not is_equal:  # the answer was lost, and the client asks again
                    again = tenant.submit(kind, number, priority=priority, force=True, notified=is_notified)
                    assert again == job, "one key, one job"
        except Exception as error:  # noqa: BLE001 - the run tells it, and fails
            self.errors.append(f"{tenant.name}: {type(error).__name__}: {error}")
