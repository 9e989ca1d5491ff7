"""Our own way through a slide, for `benchmarks.tiles_per_second`: the worker's engine, from byte ranges over HTTP to
scores."""

from __future__ import annotations

import os
import resource
import threading
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.plans import plan_all_tiles
from benchmarks.ranges_over_http import HttpRangeSource
from benchmarks.workloads import WorkloadSlide
from inference.decoder_choice import choose_decoders
from inference.decoding.processes import ProcessDecoders
from inference.engine import Engine
from inference.models.loaded import LoadedModel
from inference.shard_loop import ShardLoop, ShardSink
from inference.shard_run import ShardRun
from inference.shard_task import ShardTask
from inference.stages.values import Outputs
from tests.range_server import facts
from wsi.planning.plan import Plan
from wsi.records.model_card import ModelCard
from wsi.slide.files.source import SlideSource
from wsi.slide.opening import open_slide
from wsi.slide.reads import ReadCounter, attach_counter
from wsi.slide.slide import SlideReader


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """The measurements of a run over one slide, or several in turn. The steady part begins when the eleventh batch
    ends, or the middle one of fewer than 20."""

    patches: int  #: of the steady part
    seconds: float
    busy: float  #: share of the time in the model by its device's clock, from the first forward to the last
    padded: int
    rows: int  #: of all batches, including padding
    bytes: int  #: read from the slides in the whole run
    parent_us: float  #: CPU of this process a patch, in the whole run: it fetches, distributes and waits
    cpu_patches: int
    cpu_seconds: float  #: of all our processes
    served_us: float  #: CPU of the range server a patch; it is not ours, but replaces S3 on the same cores
    widest_gap: float  #: between two batches in the model, in median batch times
    threads: dict[str, float]  #: thread of this process -> us of CPU a patch

    @property
    def rate(self) -> float:
        return self.patches / self.seconds


def open_over_http(slide: WorkloadSlide, url: str, reads: ReadCounter) -> SlideReader:
    size, etag = facts(slide.path)
    source = HttpRangeSource(f"{url}/bucket", slide.path.name, size=size, etag=etag)
    return open_slide(attach_counter(SlideSource(files=((slide.path.name, source),)), reads))


def plan_slide(slide: WorkloadSlide, reader: SlideReader, card: ModelCard) -> Plan:
    """Plan the whole slide, asserting that its tiles are as many and as large as the patches of the workload."""
    plan = plan_all_tiles(reader, card)
    assert len(plan.tiles) == len(slide.origins)
    assert plan.grid.level_side == slide.workload.box
    return plan


class _Shards(ShardSink):
    """A source of all shards of the slides, and a sink that records when their batches ended."""

    def __init__(self, tasks: list[ShardTask]) -> None:
        self._waiting = iter(tasks)
        self.began: list[float] = []  #: when each batch was handed to the model
        self.ended: list[tuple[float, float, int]] = []  #: end, seconds and patches of each batch

    def take_next(self, *, wait: bool) -> ShardRun | None:
        task = next(self._waiting, None)
        return None if task is None else ShardRun(task, None)

    def on_batch(self, run: ShardRun, outputs: Outputs) -> None:
        self.began.append(outputs.began)
        self.ended.append((outputs.ended, outputs.seconds, outputs.count))

    def on_failed(self, run: ShardRun, error: Exception) -> None:
        raise error


def run(
    slides: list[tuple[Plan, SlideReader]],
    model: LoadedModel,
    reads: ReadCounter,
    *,
    device: str,
    workers: int | None = None,
) -> Ran:
    """Run the model over every shard of every slide, and measure it."""
    waiting = [
        ShardTask.from_plan(plan, index, reader, model, stop=threading.Event())
        for plan, reader in slides
        for index in range(len(plan.shard_sizes))
    ]
    total = sum(len(task.tiles) for task in waiting)
    read = reads.bytes
    servers = _list_children()
    decoders, budget = choose_decoders(device, workers)
    with closing(decoders), Engine(decoders, budget) as engine:
        if isinstance(decoders, ProcessDecoders):
            decoders.wait_until_ready()
        first = waiting[0]
        model.infer(
            np.zeros((first.plan.numerics.batch, first.shape.height, first.shape.width, 3), np.uint8),
            first.plan.numerics,
        )  # kernels are chosen, and the graph recorded
        own, threads = _cpu(resource.RUSAGE_SELF), _threads()
        pids = decoders.pids if isinstance(decoders, ProcessDecoders) else []
        before, served = _sum_cpu_seconds(pids), _sum_cpu_seconds(servers)
        shards = _Shards(waiting)
        ShardLoop(engine, shards, shards).run()
        own = _cpu(resource.RUSAGE_SELF) - own
        threads = {name: (spent - threads.get(name, 0.0)) / total * 1e6 for name, spent in _threads().items()}
        children, served = _sum_cpu_seconds(pids) - before, _sum_cpu_seconds(servers) - served
        forward = engine.forward
        busy, padded, batches = forward.seconds, forward.padded, forward.batches
    ended = shards.ended
    span = ended[-1][0] - shards.began[0]
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


def make_card(patch: int, mpp: float, columns: int, *, batch: int, precision: str, **more: Any) -> ModelCard:
    from wsi.models.builtin import STAIN_DENSITY
    from wsi.records.model_card import OutputColumn

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
    """Return the CPU seconds of each thread that Python began in this process; those of libraries are not included."""
    return {
        thread.name: _read_cpu_seconds(f"/proc/self/task/{thread.native_id}/stat") for thread in threading.enumerate()
    }


def _list_children() -> list[int]:
    """Return the ids of the processes that this one has begun."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            if int(_fields(stat)[1]) == os.getpid():
                found.append(int(stat.parent.name))
    return found


def _read_cpu_seconds(stat: str) -> float:
    fields = _fields(Path(stat))
    return (int(fields[11]) + int(fields[12])) / 100


def _fields(stat: Path) -> list[str]:
    """Return the fields of proc(5) from the state on. Raises OSError if the process has ended."""
    return stat.read_text().rpartition(")")[2].split()


def _sum_cpu_seconds(pids: list[int]) -> float:
    """Return the total CPU seconds of processes that still run."""
    return sum(_read_cpu_seconds(f"/proc/{pid}/stat") for pid in pids)
