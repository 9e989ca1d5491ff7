"""Models over slides on this machine, as `run` and `watch` share it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from client.commands.signals import stop_on_signals
from client.computing import computing
from client.inputs import SlideInput, UsageError
from client.local_run import run_slide
from client.opened import OpenSlides
from client.outcomes import SlideOutcome
from client.progress import TilesBar, complain
from client.shards import Computing, ModelToRun, Watched
from client.sources import Sources
from wsi.records.jobs import JobOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalRuns:
    """For one thread."""

    options: JobOptions
    computing: Computing
    open_slides: OpenSlides
    stop: threading.Event  #: set by the first SIGINT or SIGTERM

    def analyse(self, slide: SlideInput, model: ModelToRun, folder: Path, bar: TilesBar) -> SlideOutcome:
        """As `client.local_run.run_slide`."""
        watched = Watched(stop=self.stop, on_planned=bar.begin(slide.name), on_tiles=bar.advance, on_copy=bar.copied)
        return run_slide(
            self.open_slides.open(slide),
            slide.name,
            folder,
            model,
            computing=self.computing,
            watched=watched,
            options=self.options,
        )


@contextmanager
def local_runs(
    models: Sequence[ModelToRun], sources: Sources, options: JobOptions, out: Path, *, device: str, workers: int | None
) -> Iterator[LocalRuns]:
    """Load the models, and make `out`, the folder for results. `device` and `workers` as `client.computing.computing`
    takes them. Raises UsageError, and what loading raises."""
    with computing(device, models, workers, on_lost=complain) as where, closing(OpenSlides(sources)) as open_slides:
        make_folder(out)
        with stop_on_signals() as stop:
            yield LocalRuns(options=options, computing=where, open_slides=open_slides, stop=stop)


def make_folder(out: Path) -> None:
    """Raises UsageError."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"The folder {out} cannot be written: {error.strerror}") from error
