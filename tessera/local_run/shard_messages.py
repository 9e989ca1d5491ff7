"""The messages between `tessera run` and its processes, one a device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tessera.local_run.inputs import SlideInput
from tessera.local_run.shards import ModelToRun


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """The first message to a process: its device and its models."""

    device: str  #: as the process calls it: "cpu" | "cuda"
    models: tuple[ModelToRun, ...]
    decode_workers: int | None  #: None: as many as suit


@dataclass(frozen=True, kw_only=True, slots=True)
class BeginSlide:
    """A slide to compute. Numbers of shards follow, then End."""

    slide: SlideInput
    etags: tuple[str, ...]  #: of the slide's files, in their order
    index: bytes | None  #: the reader's, so that opening reads nothing
    model: str  #: identity of its card
    folder: Path  #: holds the plan, and gets the results
    key: str  #: of the partial results


@dataclass(frozen=True, slots=True)
class Stop:
    """An order to end the shards in flight with checkpoints. End follows."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a slide's shards."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A process's message that its models are loaded."""


@dataclass(frozen=True, slots=True)
class TilesDone:
    """A process's progress with the slide."""

    count: int  #: finished since the last message; resumed ones too


@dataclass(frozen=True, slots=True)
class Saved:
    """A process's message that a shard is saved."""

    shard: int


@dataclass(frozen=True, slots=True)
class Left:
    """A process's last message about a slide, after its End."""


@dataclass(frozen=True, slots=True)
class Failed:
    """An error in a process. While models are loaded it is the last message; later the process still waits for the
    slide's End."""

    error: Exception
