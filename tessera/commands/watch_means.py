"""The two ways in which a watch has slides analysed: on this machine, or by an installation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tessera.api.connection import open_transport
from tessera.api.rest import Api
from tessera.api.submission import Asked
from tessera.local_run.devices import Devices
from tessera.local_run.inputs import SlideInput
from tessera.local_run.local_runs import open_local_runs
from tessera.local_run.outcomes import SlideOutcome
from tessera.local_run.running import choose_models
from tessera.local_run.sources import Sources
from tessera.progress import TilesBar
from tessera.signals import interrupt_on_signals, sleep_until_stopped
from tessera.watching.analyses import Local, Submitted, hash_task
from tessera.watching.probe import probe, probe_completeness
from tessera.watching.watcher import Analysis
from wsi.records.jobs import JobOptions
from wsi.records.slides import Choice


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """The parts that a `Watcher` needs."""

    analysis: Analysis
    probe: Callable[[SlideInput], None]
    wait: Callable[[float], None]


@contextmanager
def open_local_means(
    name: str, sources: Sources, options: JobOptions, out: Path, device: Devices, workers: int | None
) -> Iterator[Means]:
    """Yield the means to analyse slides on this machine. Raises UsageError for a model that is not there, and what
    loading raises."""
    (model,) = choose_models([name], device.kind)
    with open_local_runs([model], sources, options, out, device=device.value, workers=workers) as local:

        def analyse(slide: SlideInput) -> SlideOutcome:
            try:
                with TilesBar(transient=True) as bar:
                    return local.analyse(slide, model, out / slide.name, bar)
            finally:
                local.slide_cache.close()  # the next version of the slide has the same location

        yield Means(
            analysis=Local(task=hash_task(model=model.card.identity, options=options.as_json()), analyse=analyse),
            probe=partial(probe, sources=sources),
            wait=partial(sleep_until_stopped, local.stop),
        )


@contextmanager
def open_api_means(
    api: str,
    api_key: str,
    asked: Asked,
    sources: Sources,
    out: Path | None,
    *,
    mpp: float | None,
    choice: Choice | None,
) -> Iterator[Means]:
    """Yield the means to have an installation analyse slides. Raises what the API raises for a model that it does not
    have."""
    with open_transport(api, api_key) as transport:
        client = Api(transport)
        client.check_model(asked.model)
        task = hash_task(
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
