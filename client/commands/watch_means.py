"""Where a watch has slides analysed: on this machine, or by an installation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from client.api import Api
from client.commands.asking import transport_to
from client.commands.local_runs import local_runs
from client.commands.options import Devices
from client.commands.signals import interrupt_on_signals, sleep_until_stopped
from client.inputs import SlideInput
from client.local_run import choose_models
from client.outcomes import SlideOutcome
from client.progress import TilesBar
from client.sources import Sources
from client.submission import Asked
from client.watching.analyses import Local, Submitted, task_of
from client.watching.probe import probe, probe_completeness
from client.watching.watcher import Analysis
from wsi.records.jobs import JobOptions
from wsi.records.slides import Choice


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """What a `Watcher` needs."""

    analysis: Analysis
    probe: Callable[[SlideInput], None]
    wait: Callable[[float], None]


@contextmanager
def here(
    name: str, sources: Sources, options: JobOptions, out: Path, device: Devices, workers: int | None
) -> Iterator[Means]:
    """Raises UsageError for a model that is not there, and what loading raises."""
    (model,) = choose_models([name], device.kind)
    with local_runs([model], sources, options, out, device=device.value, workers=workers) as local:

        def analyse(slide: SlideInput) -> SlideOutcome:
            try:
                with TilesBar(transient=True) as bar:
                    return local.analyse(slide, model, out / slide.name, bar)
            finally:
                local.open_slides.close()  # the next version of the slide has the same location

        yield Means(
            analysis=Local(task=task_of(model=model.card.identity, options=options.as_json()), analyse=analyse),
            probe=partial(probe, sources=sources),
            wait=partial(sleep_until_stopped, local.stop),
        )


@contextmanager
def there(
    api: str,
    api_key: str,
    asked: Asked,
    sources: Sources,
    out: Path | None,
    *,
    mpp: float | None,
    choice: Choice | None,
) -> Iterator[Means]:
    """Raises what the API raises for a model that it does not have."""
    transport = transport_to(api, api_key)
    try:
        client = Api(transport)
        client.check_model(asked.model)
        task = task_of(
            api=api,
            model=asked.model,
            options=asked.options,
            deidentify=asked.deidentify,
            mpp=mpp,
            choice=choice and choice.as_json(),
        )
        with interrupt_on_signals():
            yield Means(
                analysis=Submitted(task=task, api=client, asked=asked, out=out),
                probe=partial(probe_completeness, sources=sources),
                wait=time.sleep,
            )
    finally:
        transport.close()
