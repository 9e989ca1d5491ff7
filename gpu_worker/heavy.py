"""`python -m gpu_worker.heavy`: settings from the environment, exit 0 once drained or idle."""

from __future__ import annotations

import os

from adapters.settings import processes
from gpu_worker.drain import Drain, drain_on_signals
from gpu_worker.health import serve_health
from gpu_worker.logs import log_to_stderr
from gpu_worker.planner import HeavyPlanner
from gpu_worker.wiring import wired


def main() -> None:
    log_to_stderr()
    settings = processes.Heavy.from_environ(os.environ)
    drain = Drain()
    drain_on_signals(drain)
    made = wired(settings)
    planner = HeavyPlanner(
        settings, ledger=made.ledger, queues=made.queues, objects=made.objects, slides=made.slides, drain=drain
    )
    if settings.health_port is not None:
        serve_health(settings.health_port, planner)
    planner.run()


if __name__ == "__main__":
    main()
