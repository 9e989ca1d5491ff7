"""The worker of large slides and large results, `python -m gpu_worker.heavy`. It reads its settings from the
environment, and exits with 0 once drained or idle."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from adapters.settings import processes
from gpu_worker.drain import Drain, drain_on_signals
from gpu_worker.health.server import serve_health
from gpu_worker.logs import log_to_stderr
from gpu_worker.planner import HeavyPlanner
from gpu_worker.wiring import wire_adapters
from gpu_worker.worker import FLUSH_SECONDS


def main() -> None:
    """Run the worker."""
    log_to_stderr()
    settings = processes.HeavySettings.from_environ(os.environ)
    # Results in the making are gigabytes: they lie where copies of slides do.
    Path(settings.scratch).mkdir(parents=True, exist_ok=True)
    tempfile.tempdir = settings.scratch
    drain = Drain()
    drain_on_signals(drain)
    made = wire_adapters(settings)
    planner = HeavyPlanner(
        settings,
        ledger=made.ledger,
        queues=made.queues,
        objects=made.objects,
        slides=made.slides,
        drain=drain,
        tracer=made.tracer,
    )
    if settings.health_port is not None:
        serve_health(settings.health_port, planner)
    planner.run()
    made.tracer.flush(FLUSH_SECONDS)


if __name__ == "__main__":
    main()
