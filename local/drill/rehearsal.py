"""The steps of the drill, each timed.

The steps after the loss are those of `scripts/restore.sh`, by the same code: the database comes back from its backup,
the function `recover` records the objects in the buckets that took over, and only then the rest starts.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adapters.aws_clients import AwsClients
from adapters.provisioning import create_buckets
from adapters.settings.database_roles import OWNER
from adapters.settings.processes import RecoverySettings
from lambdas import recover as function
from local.drill.replica import copy_objects
from local.drill.work import DrillFailed, Work, fill_installation, list_digests, wait_for_job
from local.environment import LocalCredentials
from local.lambda_context import LambdaContext
from local.ministack import MiniStack
from local.options import DATABASE, Buckets, StackOptions
from local.postgres import EmbeddedPostgres
from local.stack import Stack
from tessera.api.rest import Api
from tessera.api.transport import Transport
from wsi.recovery.driving import Invoke, Recovered, call, recover
from wsi.states import JobState

OTHER_REGION = "eu-west-1"
KEPT = Buckets(slides="recovery-slides", results="recovery-results", models="recovery-models")
#: Small shards, so that a job is half-way for some seconds even on a small slide.
OPTIONS = StackOptions(workers=0, shard_tiles=8, worker={"checkpoint_batches": 1})


#: In their order.
STEPS = (
    *("start the first stack", "upload slides and run jobs", "back up the database", "replicate the objects"),
    *("destroy it with all its data", "restore the database", "recover", "start the rest", "finish what was live"),
)


@dataclass(kw_only=True, slots=True)
class Drill:
    """The outcome of a drill. Counts are those of `count_records`."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])  #: by step, in order
    objects: int = 0
    copied_bytes: int = 0
    before: Mapping[str, Any] = field(default_factory=dict[str, Any])  #: the loss
    restored: Mapping[str, Any] = field(default_factory=dict[str, Any])  #: by the database's backup
    after: Mapping[str, Any] = field(default_factory=dict[str, Any])  #: the recovery
    recovered: Recovered = field(default_factory=Recovered)
    finished: int = 0  #: live jobs that ended with the results of the calm one
    on_step: Callable[[str, float | None], None] = lambda name, seconds: None

    @contextmanager
    def step(self, name: str) -> Generator[None]:
        self.on_step(name, None)
        began = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - began
        self.on_step(name, self.seconds[name])

    def add_bytes(self, size: int) -> None:
        self.copied_bytes += size

    @property
    def restore_seconds(self) -> float:
        """The time from the loss until the installation answers again."""
        return sum(self.seconds[name] for name in STEPS[5:8])


def run_drill(folder: Path, slides: Sequence[Path], drill: Drill) -> None:
    """Run the drill below `folder`, which must not hold another's stacks. Raises DrillFailed when what came back
    differs from what was lost."""
    first, second = folder / "lost", folder / "restored"
    credentials = LocalCredentials()
    credentials.take()
    region = MiniStack(second / "ministack", region=OTHER_REGION, durable=True)
    try:
        work, backup, digests, key = _live_and_lose(first, region, slides, drill)
        _bring_back(second, region, backup, drill)
    finally:
        region.stop()
        credentials.give_back()
    with _running(second, drill) as stack, _client(stack, key) as api, drill.step("finish what was live"):
        _finish(stack, api, work, digests, drill)


def _live_and_lose(
    folder: Path, region: MiniStack, slides: Sequence[Path], drill: Drill
) -> tuple[Work, bytes, Mapping[str, str], str]:
    """Let an installation live, save it, and destroy it. Return its work, the database's backup, the digests of its
    calm job and an API key."""
    stack = Stack(folder, OPTIONS)
    try:
        with drill.step("start the first stack"):
            stack.start()
        with _client(stack, stack.api_key) as api, drill.step("upload slides and run jobs"):
            work = fill_installation(stack, api, slides)
            digests = list_digests(api, work.calm)
        with drill.step("back up the database"):
            backup = stack.postgres.save_backup()
        with drill.step("replicate the objects"):
            region.start()
            target = AwsClients(OTHER_REGION, region.url)
            create_buckets(target, KEPT.names)
            drill.objects = copy_objects(stack.clients, OPTIONS.buckets, target, KEPT, on_object=drill.add_bytes)
        settings = _make_settings(stack.clients, stack.postgres, OPTIONS.buckets)
        drill.before = call(_make_invoke(settings), {"count_records": {}})
        return work, backup, digests, stack.api_key
    finally:
        with drill.step("destroy it with all its data"):
            stack.workers.stop_all()
            stack.stop()
            stack.postgres.remove()
            shutil.rmtree(folder)


def _bring_back(folder: Path, region: MiniStack, backup: bytes, drill: Drill) -> None:
    postgres = EmbeddedPostgres(folder / "postgres", durable=True)
    try:
        with drill.step("restore the database"):
            postgres.load_backup(backup)
            postgres.start()
        invoke = _make_invoke(_make_settings(AwsClients(OTHER_REGION, region.url), postgres, KEPT))
        drill.restored = call(invoke, {"count_records": {}})
        if drill.restored != drill.before:
            raise DrillFailed(f"The backup holds {drill.restored}, not {drill.before}.")
        with drill.step("recover"):
            drill.recovered = recover(
                invoke,
                reads_results=True,
                report=lambda action, counts: None,
            )
        drill.after = call(invoke, {"count_records": {}})
        _check(drill)
    finally:
        postgres.stop()


def _check(drill: Drill) -> None:
    """Raise DrillFailed unless all records are there, and all objects that they name."""
    lost = drill.recovered.counts["uploads_lost"]
    slides = dict(drill.before["slides"])
    if lost:
        slides.pop("UPLOADING")
        slides["DELETED"] = slides.get("DELETED", 0) + lost
    if drill.after != {**drill.before, "slides": slides}:
        raise DrillFailed(f"After the recovery there are {drill.after}, not {drill.before}.")
    if drill.recovered.findings:
        raise DrillFailed(f"Objects are missing or differ: {drill.recovered.findings}")


@contextmanager
def _running(folder: Path, drill: Drill) -> Generator[Stack]:
    stack = Stack(folder, replace(OPTIONS, workers=1, region=OTHER_REGION, buckets=KEPT))
    try:
        with drill.step("start the rest"):
            stack.start()
        yield stack
    finally:
        stack.stop()
        stack.postgres.remove()


@contextmanager
def _client(stack: Stack, key: str) -> Generator[Api]:
    transport = Transport(stack.api_url, key)
    try:
        yield Api(transport)
    finally:
        transport.close()


def _finish(stack: Stack, api: Api, work: Work, digests: Mapping[str, str], drill: Drill) -> None:
    for job_id in work.live:
        job = wait_for_job(api, api.get_job(job_id))
        if not JobState(job.status).is_success:
            raise DrillFailed(f"A live job ended as {job.status}: {job.sentence}")
        if list_digests(api, job_id) != digests:
            raise DrillFailed("A live job has other results than one that nothing disturbed.")
        drill.finished += 1


def _make_settings(clients: AwsClients, postgres: EmbeddedPostgres, buckets: Buckets) -> RecoverySettings:
    return RecoverySettings(
        region=clients.region,
        endpoint_url=clients.endpoint_url,
        database_dsn=postgres.make_dsn(OWNER, DATABASE),
        slides_bucket=buckets.slides,
        results_bucket=buckets.results,
        models_bucket=buckets.models,
    )


def _make_invoke(settings: RecoverySettings) -> Invoke:
    handler = function.wire(settings)
    return lambda action: handler(action, LambdaContext("recover"))
