"""The whole API on a real Postgres, with two tenants that each own one of everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adapters.postgres.administration.directory import PostgresDirectory
from lambdas import operate, tiles
from lambdas.cold_start import Handler
from lambdas.wiring import AdministrationPorts, ApiWiring
from local.operations import OperationsInProcess
from tests.adapters.postgres.world import PostgresWorld
from tests.contracts.ledger_world import commit, lease, new_job, ready_slide, submit, uploading_slide
from tests.fakes.objects import MemoryObjects
from tests.fakes.queues import MemoryQueues
from tests.fakes.slides import MemorySlideStore
from tests.installation import INSPECTION, SCALING, Clock
from tests.lambdas.rest import rest_event, whole_handler
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.identity import Actor, Role
from wsi.records.models import ModelVersion

#: Begins every text that one of the tenants gave. Nobody else's answer may hold it.
MARKS = ("zebrafinch", "quokkaberry")


@dataclass(frozen=True)
class Possessions:
    """What a tenant owns: its parts of addresses by the name of the parameter, and its texts."""

    actor: Actor
    mark: str
    ids: Mapping[str, str]

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self.mark, str(self.actor.tenant), *self.ids.values())


@dataclass(frozen=True)
class Heard:
    """An answer of the API as it went out."""

    status: int
    media_type: str
    text: str
    headers: Mapping[str, str]


class TwoTenants:
    """The functions that the gateway calls, as one handler, over the ledger contract's world."""

    def __init__(self, world: PostgresWorld) -> None:
        clock = Clock()
        self.slides = MemorySlideStore(list_sources=world.tenants.list_sources, clock=clock)
        self.objects = MemoryObjects()
        wiring = ApiWiring(
            ledger=world.tenants,
            slides=self.slides,
            packages=MemorySlideStore("tessera-models", clock=clock),
            objects=self.objects,
            queues=MemoryQueues(clock),
            dollars_per_gpu_hour=1.0,
            scaling=SCALING,
            clock=clock,
            administration=AdministrationPorts(
                directory=PostgresDirectory(world.api),
                operations=OperationsInProcess(operate.make_handler(world.administration)),
            ),
        )
        self.world = world
        world.system.register_model(
            ModelVersion(
                name=STAIN_DENSITY.name,
                version=STAIN_DENSITY.version,
                digest=STAIN_DENSITY.digest,
                card=STAIN_DENSITY.as_json(),
                package_uri=None,
                is_default=True,
            )
        )
        self._handler = whole_handler(wiring)
        self._tiles: Handler = tiles.make_handler(
            tiles.TilesWiring(ledger=world.tenants, slides=self.slides, objects=self.objects)
        )
        self.first = furnish(world, admin(world.actor), MARKS[0])
        self.second = furnish(world, admin(world.other), MARKS[1])

    def ask(self, actor: Actor | None, method: str, path: str, *, query: Mapping[str, str], body: str | None) -> Heard:
        event = rest_event(method.upper(), path, query=query or None, body=body, actor=actor)
        handler = self._tiles if path.endswith((".jpeg", "/pyramid", "/thumbnail")) else self._handler
        answer = handler(event, None)
        headers = {name.lower(): values[0] for name, values in (answer.get("multiValueHeaders") or {}).items()}
        return Heard(answer["statusCode"], headers.get("content-type", ""), answer.get("body") or "", headers)


def admin(actor: Actor) -> Actor:
    return Actor(tenant=actor.tenant, subject=actor.subject, role=Role.ADMIN)


def furnish(world: PostgresWorld, actor: Actor, mark: str) -> Possessions:
    """Give a tenant a slide, an upload, a finished shard of a running job, and texts that begin with its mark."""
    slide = ready_slide(world, actor=actor, name=f"{mark}-slide.svs", inspection=INSPECTION.as_json())
    uploading = uploading_slide(world, actor=actor, name=f"{mark}-upload.svs")
    asked = new_job(
        slide,
        model=STAIN_DENSITY.name,
        model_version=STAIN_DENSITY.version,
        model_digest=STAIN_DENSITY.digest,
        label=f"{mark}-label",
        notify_email=f"{mark}@hospital.example",
        notify_webhook=f"https://{mark}.example/hook",
    )
    job = submit(world, asked, actor=actor, reuse=False, key=f"{mark}-key").job
    assert world.system.begin_planning(job.id)
    assert world.system.commit_plan(job.id, plan_key=f"{mark}/plan", plan_digest="p" * 64, shard_tiles=(10, 10))
    world.system.admit_shards(in_flight=10_000)
    assert commit(world, lease(world, world.tenants.get_job(actor, job.id), 0))
    return Possessions(
        actor=actor, mark=mark, ids={"slide_id": str(slide.id), "job_id": str(job.id), "upload_id": str(uploading.id)}
    )
