"""Chooses where models are computed: on one device in this process, or on all GPUs in a process each."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager

from inference.all_devices import ALL, NONE_HERE, list_cuda_devices
from inference.decoder_choice import choose_decoders
from inference.engine import Engine
from inference.models.registry import load_model
from tessera.local_run.inputs import UsageError
from tessera.local_run.multi_gpu import MultiGpuRunner
from tessera.local_run.shards import ModelToRun, ShardRunner, SingleDeviceRunner
from wsi.errors import ModelError


@contextmanager
def open_runner(
    device: str,
    models: Sequence[ModelToRun],
    workers: int | None,
    *,
    on_lost: Callable[[str], None] = lambda sentence: None,
) -> Generator[ShardRunner]:
    """Yield a runner for a device, with the models loaded.

    `device`: "cpu" | "cuda" | "cuda:all"; with one GPU the last two are the same. `workers`: decoders a device.
    `on_lost` gets a message about a device that the others continue without. Raises UsageError for a model or a device
    that is not there, and what loading raises.
    """
    devices = list_cuda_devices() if device == ALL else ()
    if device == ALL and not devices:
        raise UsageError(NONE_HERE)
    if len(devices) > 1:
        with _model_errors_as_usage():
            runner = MultiGpuRunner(devices, models, workers, on_lost=on_lost)
        with closing(runner):
            yield runner
        return
    device = next((one.name for one in devices), device)
    with _model_errors_as_usage():
        loaded = {model.card.identity: load_model(model.card, model.package, device) for model in models}
    decoders, budget = choose_decoders(device, workers)
    with closing(decoders), Engine(decoders, budget) as engine:
        yield SingleDeviceRunner(loaded, engine)


@contextmanager
def _model_errors_as_usage() -> Generator[None]:
    try:
        yield
    except ModelError as error:
        raise UsageError(error.sentence) from error
