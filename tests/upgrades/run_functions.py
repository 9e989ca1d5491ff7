"""Runs the functions of one release over the stack of another, as during the minutes in which CodeDeploy shifts calls.
Only modules of the former are imported: `tools.release_fixtures.checkout.make_command` starts it so.

Its argument is a JSON file: `addresses` and `options` of the stack, its URLs, and a file `ready` for the API's URL.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from dataclasses import fields
from pathlib import Path

from adapters.aws_clients import AwsClients
from adapters.sqs import SqsQueues
from local import functions
from local.functions import Addresses
from local.gateway.http_api import make_api_app
from local.gateway.http_server import HttpServer
from local.options import QUEUE_PREFIX, Buckets, StackOptions
from local.pollers import QueuePoller


def run(given: dict[str, object]) -> None:
    known = {field.name for field in fields(Addresses)}  # a stack of today has more than an earlier release asks for
    stated = {name: value for name, value in given["addresses"].items() if name in known}  # type: ignore[attr-defined]
    at = Addresses(**{**stated, "buckets": Buckets(**stated["buckets"])})
    options = StackOptions(**given["options"])  # type: ignore[arg-type]
    graphql_url, realtime_url = str(given["graphql_url"]), str(given["realtime_url"])
    queues = SqsQueues(AwsClients(at.region, at.endpoint_url), QUEUE_PREFIX)
    waking = [
        *(QueuePoller(queues, one) for one in functions.make_queue_functions(at, options, graphql_url=graphql_url)),
        *functions.make_schedules(at, options, graphql_url=graphql_url),
    ]
    api = functions.make_api_handler(at, realtime_url=realtime_url)
    authorizer = functions.make_authorizer_handler(at)
    submit = functions.make_submit_handler(at)
    server = HttpServer("api", lambda: make_api_app(api, authorizer, public_paths=(), submit=submit))
    server.start()
    for one in waking:
        one.start()
    Path(str(given["ready"])).write_text(server.url)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    stopping.wait()
    for one in waking:
        one.ask_to_stop()
    for one in waking:
        one.join()
    server.stop()


if __name__ == "__main__":
    run(json.loads(Path(sys.argv[1]).read_text()))
