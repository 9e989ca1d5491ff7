"""A slide through `tessera run`'s own functions, from its byte ranges to its result files, for benchmarks of models
that give more than scores. `check_modules` names what a machine lacks."""

from __future__ import annotations

import importlib.util
import re
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from inference.decoder_choice import choose_decoders
from inference.decoding.processes import ProcessDecoders
from inference.engine import Engine
from inference.memory import read_usage
from inference.models.loaded import LoadedModel
from tessera.local_run.inputs import SlideInput
from tessera.local_run.running import run_slide
from tessera.local_run.shards import ModelToRun, RunCallbacks, SingleDeviceRunner
from tessera.local_run.slide_session import SlideSession
from tessera.local_run.sources import Sources
from wsi.records.jobs import JobOptions
from wsi.records.model_card import ModelCard
from wsi.records.spans import Span
from wsi.spans import OpenSpan, with_span

WARM: Final = 0.1  #: of the tiles, before the steady part
_PEAK: Final = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class TimedRun:
    """The times of a run, in seconds from its start, and what it took."""

    tiles: int
    planned: float  #: the slide was read for its digest, examined and planned
    first: float  #: the first batch was done
    last: float  #: the last one
    ended: float  #: all files were there
    steady: float  #: tiles a second once `WARM` of them were done
    busy: float  #: share of the time from the plan to the last batch that the device spent in the model
    decoders: int
    decoder_seconds: float  #: that all decoders spent on tasks, together
    steps: dict[str, float]  #: step of stitching -> seconds; files are written side by side
    peak: int  #: bytes of this process
    decoder_peak: int  #: bytes of the largest decoder, with the memory that all share
    device_peak: int | None  #: bytes of the device's memory
    sizes: dict[str, int]  #: result file -> bytes

    def describe(self) -> str:
        """Return the run in two lines."""
        steps = ", ".join(f"{name} {seconds:.1f}" for name, seconds in self.steps.items() if seconds >= 0.05)
        device = f", {self.device_peak / 1e6:,.0f} MB of the device" if self.device_peak is not None else ""
        return (
            f"{self.tiles:,} tiles: planned at {self.planned:.1f} s, first batch {self.first:.1f}, last"
            f" {self.last:.1f}, files {self.ended:.1f}; {self.steady:,.1f} tiles/s steady; device busy {self.busy:.3f};"
            f" {self.decoders} decoders busy {self.decoder_seconds / self.decoders / (self.last - self.planned):.2f}\n"
            f"    peak {self.peak / 1e6:,.0f} MB, a decoder {self.decoder_peak / 1e6:,.0f}{device}; seconds of {steps}"
        )


@dataclass
class _Steps:
    """A tracer that keeps the seconds of steps. Writers' threads record into it."""

    lost: int = 0
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    def record(self, span: Span) -> None:
        self.seconds[span.name] = span.ended - span.began

    def flush(self, seconds: float) -> None:
        """Return at once: nothing waits."""


def check_modules(*names: str) -> None:
    """End the process with a sentence that names the modules that this machine lacks."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"This benchmark needs Python modules that are missing here: {', '.join(missing)}.")


def list_foreign_modules() -> Sequence[str]:
    """Return the top-level modules from outside of Python and this repository that were imported so far."""
    own = {"adapters", "benchmarks", "inference", "tessera", "tests", "wsi"}
    roots = {name.partition(".")[0] for name, module in sys.modules.items() if getattr(module, "__file__", None)}
    return sorted(root for root in roots - own - set(sys.stdlib_module_names) if not root.startswith("_"))


def measure_run(
    slide: Path,
    out: Path,
    card: ModelCard,
    model: LoadedModel,
    *,
    device: str,
    package: Path | None = None,
    decoders: int | None = None,
) -> TimedRun:
    """Run the loaded model over the slide into the folder `out`, once all decoders have started."""
    chosen, budget = choose_decoders(device, decoders)
    done: list[tuple[float, int]] = []
    planned: list[tuple[float, int]] = []
    steps = _Steps()
    to_run = ModelToRun(card=card, package=package, device=device.partition(":")[0], threads=1)
    given = SlideInput(location=str(slide), name=slide.stem)
    with closing(chosen), Engine(chosen, budget) as engine:
        if isinstance(chosen, ProcessDecoders):
            chosen.wait_until_ready()
        began = time.perf_counter()
        callbacks = RunCallbacks(
            stop=threading.Event(),
            on_planned=lambda tiles: planned.append((time.perf_counter() - began, tiles)),
            on_tiles=lambda tiles: done.append((time.perf_counter() - began, tiles)),
            on_copy=lambda copied, total: None,
        )
        span = OpenSpan(steps, "benchmark", None, parent=None)
        with closing(SlideSession(given, Sources())) as session, with_span(span):
            run_slide(
                session,
                slide.stem,
                out,
                to_run,
                computing=SingleDeviceRunner({card.identity: model}, engine),
                callbacks=callbacks,
                options=JobOptions(),
            )
        ended = time.perf_counter() - began
        busy, spent = engine.forward.seconds, chosen.seconds
        pids = chosen.pids if isinstance(chosen, ProcessDecoders) else []
        decoder_peak = max((_read_peak(pid) for pid in pids), default=0)
    peak, device_peak = read_usage(device)
    (at, tiles), (last, _) = planned[0], done[-1]
    return TimedRun(
        tiles=tiles,
        planned=at,
        first=done[0][0],
        last=last,
        ended=ended,
        steady=_compute_steady_rate(done, tiles, at),
        busy=busy / (last - at),
        decoders=max(1, len(pids)),
        decoder_seconds=spent,
        steps=steps.seconds,
        peak=peak,
        decoder_peak=decoder_peak,
        device_peak=device_peak,
        sizes={path.name: path.stat().st_size for path in sorted(out.iterdir()) if path.is_file()},
    )


def _compute_steady_rate(done: list[tuple[float, int]], tiles: int, planned: float) -> float:
    """Return the tiles a second after the first `WARM` of them; of fewer than ten batches, from the plan on."""
    count = 0
    for at, some in done if len(done) >= 10 else ():
        count += some
        if count >= WARM * tiles:
            return (tiles - count) / (done[-1][0] - at)
    return tiles / (done[-1][0] - planned)


def _read_peak(pid: int) -> int:
    found = _PEAK.search(Path(f"/proc/{pid}/status").read_text())
    return 1024 * int(found[1]) if found is not None else 0
