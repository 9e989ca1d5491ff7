"""What `tessera run` and its processes, one a device, tell each other."""

from __future__ import annotations

import pickle
import traceback
from dataclasses import dataclass
from pathlib import Path

from client.inputs import SlideInput
from client.shards import ModelToRun


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """The first message to a process."""

    device: str  #: as the process calls it: "cpu" | "cuda"
    models: tuple[ModelToRun, ...]
    decode_workers: int | None  #: None: as many as suit


@dataclass(frozen=True, kw_only=True, slots=True)
class BeginSlide:
    """Numbers of shards follow, then End."""

    slide: SlideInput
    etags: tuple[str, ...]  #: of its files, in their order
    index: bytes | None  #: the reader's, so that opening reads nothing
    model: str  #: identity of its card
    folder: Path  #: where the plan lies, and results go
    key: str  #: of the partial results


@dataclass(frozen=True, slots=True)
class Stop:
    """The shards that are begun end in checkpoints; End follows."""


@dataclass(frozen=True, slots=True)
class End:
    """No shard follows."""


@dataclass(frozen=True, slots=True)
class Ready:
    """From a process, once its models are loaded."""


@dataclass(frozen=True, slots=True)
class Tiles:
    count: int  #: finished since the last message; resumed ones too


@dataclass(frozen=True, slots=True)
class Saved:
    shard: int


@dataclass(frozen=True, slots=True)
class Left:
    """The last word on a slide, after its End."""


@dataclass(frozen=True, slots=True)
class Failed:
    """While models are loaded the last word of all; otherwise the slide's End is still waited for."""

    error: Exception


def portable(error: Exception) -> Exception:
    """The error as another process can raise it, its traceback as a note."""
    trace = "".join(traceback.format_exception(error))
    try:
        copy: Exception = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001  # whatever a foreign exception does when it is taken apart
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(trace)
    return copy
