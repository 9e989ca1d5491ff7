"""Runs of models over slides on this machine, as `run` and `watch` share them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tessera.local_run.computing import open_runner
from tessera.local_run.inputs import SlideInput, UsageError
from tessera.local_run.outcomes import SlideOutcome
from tessera.local_run.running import run_slide
from tessera.local_run.shards import ModelToRun, RunCallbacks, ShardRunner
from tessera.local_run.slide_session import SlideCache
from tessera.local_run.sources import Sources
from tessera.local_run.together import share_decode
from tessera.progress import TilesBar, complain
from tessera.signals import stop_on_signals
from wsi.given.objects import GivenObjects
from wsi.records.jobs import JobOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalRuns:
    """Runs on this machine, for one thread."""

    options: JobOptions
    computing: ShardRunner
    slide_cache: SlideCache
    stop: threading.Event  #: set by the first SIGINT or SIGTERM
    objects: GivenObjects | None = None  #: those of `options.objects`

    def analyse(self, slide: SlideInput, model: ModelToRun, folder: Path, bar: TilesBar) -> SlideOutcome:
        """Analyse a slide as `tessera.local_run.running.run_slide` does."""
        callbacks = RunCallbacks(
            stop=self.stop, on_planned=bar.begin(slide.name), on_tiles=bar.advance, on_copy=bar.show_copied
        )
        return run_slide(
            self.slide_cache.open(slide),
            slide.name,
            folder,
            model,
            computing=self.computing,
            callbacks=callbacks,
            options=self.options,
            objects=self.objects,
        )

    def share_decode(
        self, name: str, slide: SlideInput, runs: Sequence[tuple[Path, ModelToRun]], bar: TilesBar
    ) -> None:
        """Compute what the models can share of the slide, before each is run. `name`: of the slide, for the bar."""
        callbacks = RunCallbacks(
            stop=self.stop,
            on_planned=bar.begin(f"{name}: {len(runs)} models"),
            on_tiles=bar.advance,
            on_copy=bar.show_copied,
        )
        reason = share_decode(
            self.slide_cache.open(slide),
            runs,
            computing=self.computing,
            callbacks=callbacks,
            options=self.options,
            objects=self.objects,
        )
        if reason is not None:
            complain(f"the models are computed one after the other: {reason}")


@contextmanager
def open_local_runs(
    models: Sequence[ModelToRun],
    sources: Sources,
    options: JobOptions,
    out: Path,
    *,
    device: str,
    workers: int | None,
    objects: GivenObjects | None = None,
) -> Iterator[LocalRuns]:
    """Load the models, make `out`, the folder for results, and yield the runs. `device` and `workers` are as
    `tessera.local_run.computing.open_runner` takes them; `objects` are those of `options.objects`. Raises UsageError,
    and what loading raises."""
    if objects is not None:
        _check_scoring(models)
    with open_runner(device, models, workers, on_lost=complain) as where, closing(SlideCache(sources)) as slide_cache:
        make_folder(out)
        with stop_on_signals() as stop:
            yield LocalRuns(options=options, computing=where, slide_cache=slide_cache, stop=stop, objects=objects)


def _check_scoring(models: Sequence[ModelToRun]) -> None:
    """Raise UsageError for a model that given objects cannot be analysed with, before it is loaded."""
    finding = [model.card.name for model in models if model.card.objects is not None]
    if finding:
        raise UsageError(f"{finding[0]} finds objects itself: take a model that gives each tile scores or a vector")


def make_folder(out: Path) -> None:
    """Make the folder for results. Raises UsageError if it cannot be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"The folder {out} cannot be written: {error.strerror}") from error
