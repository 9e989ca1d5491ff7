"""An installation on the in-memory ports: two tenants, one model, and slides in the state that a test needs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from tests.fakes.erasure.locks import MemoryLocks
from tests.fakes.ledger import MemoryLedger
from tests.fakes.objects import MemoryObjects
from tests.fakes.push import MemoryPublisher
from tests.fakes.queues import MemoryQueues
from tests.fakes.slides import MemorySlideStore
from wsi import keys
from wsi.models.builtin import STAIN_DENSITY
from wsi.records.expectations import WorkerScaling
from wsi.records.identity import OPERATORS, Actor, Role
from wsi.records.models import ModelVersion
from wsi.records.slides import Choice, Inspection, LevelInfo, Slide
from wsi.slides.locking import SlideLocks
from wsi.sources.source import Source
from wsi.tracing import make_traceparent
from wsi.uploads.rules import NewFile, PartAsked, compute_part_size, count_parts
from wsi.uploads.uploads import complete_upload, grant_parts, open_upload

HOSPITAL = UUID("11111111-1111-4111-8111-111111111111")
RIVAL = UUID("22222222-2222-4222-8222-222222222222")
ALLOWED_BUCKET = "customer-slides"

VIEWER = Actor(tenant=HOSPITAL, subject="user:viewer", role=Role.VIEWER)
ANALYST = Actor(tenant=HOSPITAL, subject="user:analyst", role=Role.ANALYST)
ADMIN = Actor(tenant=HOSPITAL, subject="user:admin", role=Role.ADMIN)
OPERATOR = Actor(tenant=OPERATORS, subject="user:operator", role=Role.OPERATOR)
STRANGER = Actor(tenant=RIVAL, subject="user:stranger", role=Role.ADMIN)

INSPECTION = Inspection(
    format="svs",
    reading_path="native",
    vendor="aperio",
    width=20_000,
    height=10_000,
    levels=(LevelInfo(width=20_000, height=10_000, downsample=1.0, tile_width=240, tile_height=240),),
    mpp_x=0.5,
    mpp_y=0.5,
    mpp_source="aperio",
    tissue_um2=2.5e7,
    tissue_fraction=0.5,
)
#: As on AWS, rounded.
SCALING = WorkerScaling(start_seconds=180, slow_start_seconds=300, most=20, shards_a_worker=3)


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=1)
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass
class Installation:
    clock: Clock = field(default_factory=Clock)
    objects: MemoryObjects = field(default_factory=MemoryObjects)
    publisher: MemoryPublisher = field(default_factory=MemoryPublisher)

    def __post_init__(self) -> None:
        self.ledger = MemoryLedger(self.clock)
        self.ledger.set_sources(HOSPITAL, Source(ALLOWED_BUCKET))
        self.slides = MemorySlideStore(
            allowed_buckets=[ALLOWED_BUCKET], clock=self.clock, list_sources=self.ledger.list_sources
        )
        self.file_locks = MemoryLocks(
            lambda: [uri.removeprefix(self.slides.make_uri("")) for uri in self.slides.held], self.clock
        )
        self.result_locks = MemoryLocks(lambda: self.objects.held, self.clock)
        #: of an installation with S3 Object Lock
        self.locks = SlideLocks(slides=self.file_locks, results=self.result_locks)
        self.packages = MemorySlideStore("tessera-models", clock=self.clock)
        self.queues = MemoryQueues(self.clock)
        self.ledger.register_model(
            ModelVersion(
                name=STAIN_DENSITY.name,
                version=STAIN_DENSITY.version,
                digest=STAIN_DENSITY.digest,
                card=STAIN_DENSITY.as_json(),
                package_uri=None,
            )
        )

    def opened(
        self,
        *sizes: int,
        actor: Actor = ANALYST,
        mpp: float | None = None,
        choice: Choice | None = None,
        deidentify: bool = False,
    ) -> Slide:
        """A slide in state UPLOADING with files of these sizes."""
        files = [NewFile(name=f"scan-{number}.svs", size=size) for number, size in enumerate(sizes)]
        asked = {"mpp": mpp, "choice": choice, "deidentify": deidentify}
        return open_upload(actor, files, **asked, ledger=self.ledger, slides=self.slides)

    def send_parts(self, slide: Slide, *, leave_out: frozenset[tuple[int, int]] = frozenset(), seed: int = 0) -> None:
        """PUTs the parts as a browser does, but for those (file, n)."""
        for number, file in enumerate(slide.files):
            for n in range(1, count_parts(file.size) + 1):
                if (number, n) not in leave_out:
                    self.send_part(slide, number, n, part_bytes(number, n, compute_part_size(file.size, n), seed))

    def send_part(self, slide: Slide, number: int, n: int, data: bytes) -> None:
        asked = PartAsked(file=number, n=n, size=len(data), sha256=hashlib.sha256(data).hexdigest())
        actor = Actor(tenant=slide.tenant, subject="user:browser", role=Role.ANALYST)
        (granted,) = grant_parts(actor, slide.id, [asked], ledger=self.ledger, slides=self.slides)
        self.slides.put_part(granted.url, data)

    def complete(self, slide_id: UUID, actor: Actor = ANALYST) -> Slide:
        return complete_upload(
            actor,
            slide_id,
            ledger=self.ledger,
            slides=self.slides,
            queues=self.queues,
            traceparent=make_traceparent(),
        )

    def uploaded(
        self,
        *sizes: int,
        actor: Actor = ANALYST,
        mpp: float | None = None,
        choice: Choice | None = None,
        seed: int = 0,
    ) -> Slide:
        slide = self.opened(*(sizes or (1000,)), actor=actor, mpp=mpp, choice=choice)
        self.send_parts(slide, seed=seed)
        return self.complete(slide.id, actor)

    def ready(
        self, *, actor: Actor = ANALYST, mpp: float | None = None, choice: Choice | None = None, seed: int = 0
    ) -> UUID:
        slide = self.uploaded(actor=actor, mpp=mpp, choice=choice, seed=seed)
        thumbnail = keys.of_thumbnail(keys.make_inspection_folder(slide.tenant, slide.id, slide.version))
        assert self.ledger.accept_slide(slide.id, INSPECTION.as_json(), thumbnail, version=slide.version)
        return slide.id


def part_bytes(number: int, n: int, size: int, seed: int = 0) -> bytes:
    return bytes([(number + 7 * n + seed) % 251]) * size
