"""The worker's program, `python -m gpu_worker`. It reads its settings from the environment, and exits with 0 once
drained or idle, with another status when only a new process helps. With device cuda:all it starts a process a GPU
(`gpu_worker.supervisor`)."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence

from adapters.settings import processes
from gpu_worker.drain import Drain, drain_on_signals, drain_with_parent
from gpu_worker.logs import log_to_stderr
from inference.all_devices import ALL, NONE_HERE, OneDevice, list_cuda_devices

log = logging.getLogger(__name__)


def main() -> None:
    """Run the worker. An argument is the descriptor of the connection to a parent."""
    log_to_stderr()
    settings = processes.WorkerSettings.from_environ(os.environ)
    drain = Drain()
    drain_on_signals(drain)
    if len(sys.argv) > 1:
        drain_with_parent(int(sys.argv[1]), drain)
    if settings.device == ALL:
        devices = list_cuda_devices()
        if not devices:
            log.critical(NONE_HERE)
            sys.exit(os.EX_UNAVAILABLE)
        one, *others = devices
        if others:
            sys.exit(_supervise(settings, devices, drain))
        settings = settings.model_copy(update={"device": one.name})
    _work(settings, drain)


def _supervise(settings: processes.WorkerSettings, devices: Sequence[OneDevice], drain: Drain) -> int:
    from gpu_worker.health.server import serve
    from gpu_worker.health.supervised import answer_for_workers
    from gpu_worker.supervisor import Supervisor

    supervisor = Supervisor(settings, devices, drain)
    if settings.health_port is not None:
        serve(settings.health_port, lambda path: answer_for_workers(path, supervisor.ports, leaving=drain.requested))
    return supervisor.run()


def _work(settings: processes.WorkerSettings, drain: Drain) -> None:
    # Imported here, since a parent of workers does not need these.
    from adapters.s3.objects import S3Objects
    from gpu_worker.health.server import serve_health
    from gpu_worker.wiring import wire_adapters
    from gpu_worker.worker import Worker

    made = wire_adapters(settings)
    worker = Worker(
        settings,
        ledger=made.ledger,
        queues=made.queues,
        objects=made.objects,
        slides=made.slides,
        packages=S3Objects(made.clients, settings.models_bucket),
        drain=drain,
        tracer=made.tracer,
    )
    if settings.health_port is not None:
        serve_health(settings.health_port, worker, worker.list_models)
    status = worker.run()
    if status:
        logging.shutdown()
        os._exit(status)  # `sys.exit` would wait for threads, and one may hang


if __name__ == "__main__":
    main()
