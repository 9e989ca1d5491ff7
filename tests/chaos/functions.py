"""Some functions of a stack in a process of their own, so that it can be killed.

`python -m tests.chaos.functions FILE`: JSON with `addresses` and `options` of the stack, the queues and schedules to
serve, and `ready`, the file for the API's URL, where it is served here. It runs the code of the folder that it is
started in."""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from adapters.aws_clients import AwsClients
from adapters.settings import processes
from adapters.sqs import SqsQueues
from lambdas import notify, webhook_send
from local import functions
from local.functions import Addresses
from local.gateway.http_api import make_api_app
from local.gateway.http_server import HttpServer
from local.options import QUEUE_PREFIX, Buckets, StackOptions
from local.pollers import Mapped, QueuePoller
from local.webhooks import WebhooksInProcess


def run(given: dict[str, Any]) -> None:
    at = Addresses(**{**given["addresses"], "buckets": Buckets(**given["addresses"]["buckets"])})
    options = StackOptions(**given["options"])
    queues = SqsQueues(AwsClients(at.region, at.endpoint_url), QUEUE_PREFIX)
    mapped = functions.make_queue_functions(at, options, graphql_url=given["graphql_url"])
    waking = [
        *(
            QueuePoller(queues, _with_receiver(at, one, given["receiver"]))
            for one in mapped
            if one.queue in given["queues"]
        ),
        *(functions.make_schedules(at, options, graphql_url=given["graphql_url"]) if given["schedules"] else ()),
    ]
    server = None
    if given["ready"]:
        api = functions.make_api_handler(at, realtime_url=given["realtime_url"])
        authorizer = functions.make_authorizer_handler(at)
        submit = functions.make_submit_handler(at)
        server = HttpServer("api", lambda: make_api_app(api, authorizer, public_paths=(), submit=submit))
        server.start()
        staging = Path(given["ready"]).with_suffix(".partial")
        staging.write_text(server.url)
        staging.replace(given["ready"])
    for one in waking:
        one.start()
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    stopping.wait()
    for one in waking:
        one.ask_to_stop()
    for one in waking:
        one.join()
    if server:
        server.stop()


def _with_receiver(at: Addresses, one: Mapped, receiver: str) -> Mapped:
    """The function, where it is `notify` with all names resolved to a receiver of the test on the loopback, by the
    arguments that the sender's own tests use. What the product's entry point wires refuses such an address."""
    if one.queue != "notify":
        return one
    settings = processes.NotifySettings(
        **at.make_traced_settings(at.system_dsn),
        webhook_function="webhook_send",
        mail_from="tessera@localhost.localdomain",
    )
    send = webhook_send.make_handler(
        processes.WebhookSendSettings(), resolve=lambda host, port: [receiver], allowed=lambda _: True
    )
    return Mapped(
        queue=one.queue, function=one.function, handler=notify.wire(settings, webhooks=WebhooksInProcess(send))
    )


if __name__ == "__main__":
    run(json.loads(Path(sys.argv[1]).read_text()))
