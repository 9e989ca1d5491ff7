"""`python -m gpu_worker`: settings from the environment, exit 0 once drained or idle, another status when only a
new process helps. With device cuda:all a process a GPU, below this one (`gpu_worker.supervisor`)."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence

from adapters.settings import processes
from gpu_worker.all_devices import ALL, NONE_HERE, OneDevice, cuda_devices
from gpu_worker.drain import Drain, drain_at_end_of, drain_on_signals
from gpu_worker.logs import log_to_stderr

log = logging.getLogger(__name__)


def main() -> None:
    log_to_stderr()
    settings = processes.Worker.from_environ(os.environ)
    drain = Drain()
    drain_on_signals(drain)
    if len(sys.argv) > 1:
        drain_at_end_of(int(sys.argv[1]), drain)
    if settings.device == ALL:
        devices = cuda_devices()
        if not devices:
            log.critical(NONE_HERE)
            sys.exit(os.EX_UNAVAILABLE)
        one, *others = devices
        if others:
            sys.exit(_supervise(settings, devices, drain))
        settings = settings.model_copy(update={"device": one.name})
    _work(settings, drain)


def _supervise(settings: processes.Worker, devices: Sequence[OneDevice], drain: Drain) -> int:
    from gpu_worker.health import serve
    from gpu_worker.supervised_health import answer
    from gpu_worker.supervisor import Supervisor

    supervisor = Supervisor(settings, devices, drain)
    if settings.health_port is not None:
        serve(settings.health_port, lambda path: answer(path, supervisor.ports, leaving=drain.requested))
    return supervisor.run()


def _work(settings: processes.Worker, drain: Drain) -> None:
    # What a parent of workers does not need is not loaded for it.
    from adapters.s3.objects import S3Objects
    from gpu_worker.health import serve_health
    from gpu_worker.wiring import wired
    from gpu_worker.worker import Worker

    made = wired(settings)
    worker = Worker(
        settings,
        ledger=made.ledger,
        queues=made.queues,
        objects=made.objects,
        slides=made.slides,
        packages=S3Objects(made.clients, settings.models_bucket),
        drain=drain,
    )
    if settings.health_port is not None:
        serve_health(settings.health_port, worker, worker.models)
    status = worker.run()
    if status:
        logging.shutdown()
        os._exit(status)  # `sys.exit` would wait for threads, one of which may hang


if __name__ == "__main__":
    main()
