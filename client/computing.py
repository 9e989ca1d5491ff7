"""Where models are computed: on one device in this process, or on all GPUs in a process each."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager

from client.inputs import UsageError
from client.shards import Computing, InThisProcess, ModelToRun
from client.spread import Spread
from gpu_worker.all_devices import ALL, NONE_HERE, cuda_devices
from gpu_worker.decoding.choice import decoders_for
from gpu_worker.engine import Engine
from gpu_worker.models.registry import load_model
from wsi.errors import ModelError


@contextmanager
def computing(
    device: str,
    models: Sequence[ModelToRun],
    workers: int | None,
    *,
    on_lost: Callable[[str], None] = lambda sentence: None,
) -> Generator[Computing]:
    """`device`: "cpu" | "cuda" | "cuda:all"; with one GPU the last two are the same. `workers`: decoders a device.
    `on_lost` is told of a device that the others go on without. Raises UsageError for a model or a device that is not
    there, and what loading raises."""
    devices = cuda_devices() if device == ALL else ()
    if device == ALL and not devices:
        raise UsageError(NONE_HERE)
    if len(devices) > 1:
        with _stated_wrongly():
            spread = Spread(devices, models, workers, on_lost=on_lost)
        with closing(spread):
            yield spread
        return
    device = next((one.name for one in devices), device)
    with _stated_wrongly():
        loaded = {model.card.identity: load_model(model.card, model.package, device) for model in models}
    decoders, budget = decoders_for(device, workers)
    with closing(decoders), Engine(decoders, budget) as engine:
        yield InThisProcess(loaded, engine)


@contextmanager
def _stated_wrongly() -> Generator[None]:
    try:
        yield
    except ModelError as error:
        raise UsageError(error.sentence) from error
