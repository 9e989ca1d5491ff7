"""Our own way through a slide, for `benchmarks.tiles_per_second`: the engine as the worker has it, from byte ranges
over HTTP to scores."""

from __future__ import annotations

import os
import resource
import threading
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.plans import plan_of_all
from benchmarks.ranges_over_http import HttpRangeSource
from benchmarks.workloads import Slide
from gpu_worker.decoding.choice import decoders_for
from gpu_worker.decoding.processes import ProcessDecoders
from gpu_worker.engine import Engine
from gpu_worker.models.loaded import LoadedModel
from gpu_worker.stages.values import Ended, Outputs
from gpu_worker.work import Work
from tests.range_server import facts
from wsi.model_card import ModelCard
from wsi.plan import Plan
from wsi.slide.opening import open_slide
from wsi.slide.reads import Reads, counted
from wsi.slide.slide import SlideReader
from wsi.slide.source import SlideSource

#: Shards begun and not ended, as the worker holds them.
BEGUN = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """Of one or several slides, one behind the other. The steady part begins with the end of the tenth batch."""

    patches: int  #: of the steady part
    seconds: float
    busy: float  #: time in the model by its device's clock, from the first forward to the last
    padded: int
    rows: int  #: of all batches, padding too
    bytes: int  #: read of the slide, of all
    parent_us: float  #: CPU of this process a patch, of all: what fetches, hands out and waits
    cpu_patches: int
    cpu_seconds: float  #: of all processes that are ours
    served_us: float  #: CPU of the range server a patch, which is not ours and stands for S3 on the same cores
    widest_gap: float  #: between two batches in the model, in times of a batch
    threads: dict[str, float]  #: thread of this process -> us of CPU a patch

    @property
    def rate(self) -> float:
        return self.patches / self.seconds


def opened(slide: Slide, url: str, reads: Reads) -> SlideReader:
    size, etag = facts(slide.path)
    source = HttpRangeSource(f"{url}/bucket", slide.path.name, size=size, etag=etag)
    return open_slide(counted(SlideSource(files=((slide.path.name, source),)), reads))


def planned(slide: Slide, reader: SlideReader, card: ModelCard) -> Plan:
    """All of the slide: the patches of the workload."""
    plan = plan_of_all(reader, card)
    assert len(plan.tiles) == len(slide.origins)
    assert plan.grid.level_side == slide.workload.box
    return plan


def run(
    slides: list[tuple[Plan, SlideReader]], model: LoadedModel, reads: Reads, *, device: str, workers: int | None = None
) -> Ran:
    """Every shard of every slide."""
    waiting = [
        Work.of(plan, index, reader, model, stop=threading.Event())
        for plan, reader in slides
        for index in range(len(plan.shard_sizes))
    ]
    total = sum(len(work.tiles) for work in waiting)
    ended: list[tuple[float, float, int]] = []  # when a batch's scores were there, its seconds, its patches
    begun_at: list[float] = []
    read = reads.bytes
    servers = _born()
    decoders, budget = decoders_for(device, workers)
    with closing(decoders), Engine(decoders, budget) as engine:
        if isinstance(decoders, ProcessDecoders):
            decoders.wait_until_ready()
        first = waiting[0]
        model.infer(
            np.zeros((first.plan.numerics.batch, first.shape.height, first.shape.width, 3), np.uint8),
            first.plan.numerics,
        )  # kernels are chosen, and the graph recorded
        own, left, threads = _cpu(resource.RUSAGE_SELF), len(waiting), _threads()
        pids = decoders.pids if isinstance(decoders, ProcessDecoders) else []
        before, served = _children(pids), _children(servers)
        for work in waiting[:BEGUN]:
            engine.begin(work)
        coming = iter(waiting[BEGUN:])
        while left:
            event = engine.next()
            if isinstance(event, Outputs):
                begun_at.append(event.began)
                ended.append((event.ended, event.seconds, event.count))
            elif isinstance(event, Ended):
                if event.error is not None:
                    raise event.error
                left -= 1
                if (following := next(coming, None)) is not None:
                    engine.begin(following)
        own = _cpu(resource.RUSAGE_SELF) - own
        threads = {name: (spent - threads.get(name, 0.0)) / total * 1e6 for name, spent in _threads().items()}
        children, served = _children(pids) - before, _children(servers) - served
        forward = engine.forward
        busy, padded, batches = forward.seconds, forward.padded, forward.batches
    span = ended[-1][0] - begun_at[0]
    steady = ended[min(10, len(ended) // 2) :]
    seconds = np.array([each for _, each, _ in steady])
    apart = np.diff([at for at, _, _ in steady])
    gaps = apart - seconds[1:]
    return Ran(
        patches=sum(count for _, _, count in steady[1:]),
        seconds=steady[-1][0] - steady[0][0],
        busy=busy / span,
        padded=padded,
        rows=batches * waiting[0].plan.numerics.batch,
        bytes=reads.bytes - read,
        parent_us=own / total * 1e6,
        cpu_patches=total,
        cpu_seconds=own + children,
        served_us=served / total * 1e6,
        widest_gap=float((gaps / np.median(seconds)).max()) if len(gaps) else 0.0,
        threads=threads,
    )


def card_of(patch: int, mpp: float, columns: int, *, batch: int, precision: str, **more: Any) -> ModelCard:
    from wsi.builtin_models import STAIN_DENSITY
    from wsi.model_card import OutputColumn

    given: dict[str, Any] = {
        "tile_px": patch,
        "input_px": patch,
        "mpp": mpp,
        "columns": tuple(OutputColumn(name=f"class_{number}") for number in range(columns)),
        "batch": batch,
        "precision": precision,
        "name": "benchmark",
        **more,
    }
    return replace(STAIN_DENSITY, **given)


def _cpu(who: int) -> float:
    spent = resource.getrusage(who)
    return spent.ru_utime + spent.ru_stime


def _threads() -> dict[str, float]:
    """CPU seconds of each thread of this process that Python began; those of libraries are not among them."""
    return {thread.name: _spent(f"/proc/self/task/{thread.native_id}/stat") for thread in threading.enumerate()}


def _born() -> list[int]:
    """Processes that this one has begun."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            if int(_fields(stat)[1]) == os.getpid():
                found.append(int(stat.parent.name))
    return found


def _spent(stat: str) -> float:
    fields = _fields(Path(stat))
    return (int(fields[11]) + int(fields[12])) / 100


def _fields(stat: Path) -> list[str]:
    """From the state on: proc(5). Raises OSError of a process that has ended."""
    return stat.read_text().rpartition(")")[2].split()


def _children(pids: list[int]) -> float:
    """CPU seconds of processes that run."""
    return sum(_spent(f"/proc/{pid}/stat") for pid in pids)
