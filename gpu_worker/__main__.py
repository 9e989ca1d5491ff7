"""`python -m gpu_worker`: settings from the environment, exit 0 once drained or idle, another status when only a
new process helps."""

from __future__ import annotations

import logging
import os

from adapters.aws_clients import AwsClients
from adapters.postgres.connections import Connections
from adapters.postgres.system_ledger import PostgresSystemLedger
from adapters.s3.objects import S3Objects
from adapters.s3.slides import S3SlideStore
from adapters.settings import processes
from adapters.sqs import SqsQueues
from gpu_worker.drain import Drain, drain_on_signals
from gpu_worker.health import serve_health
from gpu_worker.logs import log_to_stderr
from gpu_worker.worker import Worker


def main() -> None:
    log_to_stderr()
    settings = processes.Worker.from_environ(os.environ)
    drain = Drain()
    drain_on_signals(drain)
    clients = AwsClients(settings.region, settings.endpoint_url)
    worker = Worker(
        settings,
        ledger=PostgresSystemLedger(
            Connections(settings.database_dsn, iam=settings.database_iam, region=settings.region)
        ),
        queues=SqsQueues(clients, settings.queue_prefix),
        objects=S3Objects(clients, settings.results_bucket),
        slides=S3SlideStore(clients, settings.slides_bucket, settings.allowed, settings),
        packages=S3Objects(clients, settings.models_bucket),
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
