"""Options in which embedded stacks may differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

REGION = "eu-central-1"
SLIDES = "tessera-slides"
RESULTS = "tessera-results"
MODELS = "tessera-models"
SHARED = "tessera-shared"  #: a source of the first tenant: slides here can be registered by reference
QUEUE_PREFIX = "tessera-"
DATABASE = "tessera"


@dataclass(frozen=True, kw_only=True, slots=True)
class Buckets:
    """The names of a stack's buckets. An installation that was restored after a loss has others than it had."""

    slides: str = SLIDES
    results: str = RESULTS
    models: str = MODELS

    @property
    def names(self) -> tuple[str, ...]:
        return (self.slides, self.results, self.models)


@dataclass(frozen=True, kw_only=True, slots=True)
class StackOptions:
    region: str = REGION
    buckets: Buckets = Buckets()
    workers: int = 1
    durable: bool = True  #: data survives a stop and a lost machine; False is faster, for tests
    shard_tiles: int | None = None  #: fixed shard size; None: by the model's rate
    stuck_seconds: float = 900.0
    upload_days: float = 3.0
    schedule_seconds: float = 60.0  #: between two sweeps, and between two runs of the relay that nothing woke
    #: Of pages of another server that use this stack: http://localhost:5173 while the page is developed.
    page_origins: tuple[str, ...] = ()
    #: Fields of WorkerSettings that differ: lease_seconds, checkpoint_seconds, checkpoint_batches, device …
    worker: Mapping[str, Any] = field(default_factory=dict)
    postgres_environment: Mapping[str, str] = field(default_factory=dict)  #: further variables of the database's server
