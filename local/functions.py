"""The Lambda functions of the stack, built in this process from settings, and what wakes each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from adapters.settings import processes, queues
from adapters.settings.functions import BATCHES, TIMEOUTS, WOKEN
from lambdas import api, authorizer, inspect, notify, plan, relay, stitch, sweep, tiles, webhook_send, wiring
from lambdas.cold_start import Handler
from local.options import QUEUE_PREFIX, RESULTS, SHARED, SLIDES, StackOptions
from local.pollers import Mapped, Schedule
from local.webhooks import WebhooksInProcess


@dataclass(frozen=True, kw_only=True, slots=True)
class Addresses:
    """Where the parts of a stack answer."""

    region: str
    endpoint_url: str
    api_dsn: str
    system_dsn: str
    issuer: str
    jwks_url: str
    client_id: str

    def common(self, dsn: str) -> dict[str, Any]:
        """What every process is told, with the DSN of its database role."""
        return {"region": self.region, "endpoint_url": self.endpoint_url, "database_dsn": dsn}


def authorizer_handler(at: Addresses) -> Handler:
    settings = processes.Authorizer(
        **at.common(at.api_dsn), issuer=at.issuer, jwks_url=at.jwks_url, client_id=at.client_id
    )
    return authorizer.make_handler(wiring.authorizer_wiring(settings))


def api_handler(at: Addresses, *, realtime_url: str) -> Handler:
    settings = processes.Api(
        **at.common(at.api_dsn),
        slides_bucket=SLIDES,
        results_bucket=RESULTS,
        allowed_buckets=SHARED,
        queue_prefix=QUEUE_PREFIX,
        realtime_url=realtime_url,
    )
    return api.make_handler(wiring.api_wiring(settings))


def tiles_handler(at: Addresses) -> Handler:
    settings = processes.Tiles(
        **at.common(at.api_dsn), slides_bucket=SLIDES, results_bucket=RESULTS, allowed_buckets=SHARED
    )
    return tiles.make_handler(wiring.tiles_wiring(settings))


def queue_functions(at: Addresses, options: StackOptions, *, graphql_url: str) -> tuple[Mapped, ...]:
    handlers = {
        "inspect": inspect.make_handler(wiring.slide_jobs_wiring(_slide_jobs(at, options))),
        "plan": plan.make_handler(wiring.slide_jobs_wiring(_slide_jobs(at, options))),
        "stitch": stitch.make_handler(wiring.stitch_wiring(_stitch(at))),
        "notify": notify.make_handler(notify_wiring(at)),
    }
    woken = Mapped(
        queue="wake",
        function="relay",
        handler=relay_handler(at, graphql_url=graphql_url),
        timeout_seconds=TIMEOUTS["relay"],
        batch_size=BATCHES["relay"],
    )
    # A pod of its own on AWS (gpu_worker.heavy), since a function there lacks the time and the disk.
    heavy = Mapped(queue=queues.HEAVY, function="plan", handler=handlers["plan"], timeout_seconds=TIMEOUTS["plan"])
    return (
        woken,
        heavy,
        *(
            Mapped(queue=name, function=name, handler=handler, timeout_seconds=TIMEOUTS[name])
            for name, handler in handlers.items()
        ),
    )


def schedules(at: Addresses, options: StackOptions, *, graphql_url: str) -> tuple[Schedule, ...]:
    every = options.schedule_seconds
    return (
        Schedule("sweep", sweep_handler(at, options, stuck_seconds=options.stuck_seconds), seconds=every),
        Schedule("relay", relay_handler(at, graphql_url=graphql_url), seconds=every),
    )


def sweep_handler(at: Addresses, options: StackOptions, *, stuck_seconds: float) -> Handler:
    settings = processes.Sweep(
        **at.common(at.system_dsn),
        slides_bucket=SLIDES,
        queue_prefix=QUEUE_PREFIX,
        upload_days=options.upload_days,
        stuck_seconds=stuck_seconds,
    )
    return sweep.make_handler(wiring.sweep_wiring(settings))


def relay_handler(at: Addresses, *, graphql_url: str) -> Handler:
    settings = processes.Relay(**at.common(at.system_dsn), queue_prefix=QUEUE_PREFIX, appsync_url=graphql_url)
    return relay.make_handler(wiring.relay_wiring(settings))


def notify_wiring(at: Addresses) -> wiring.NotifyWiring:
    """Webhooks leave from here, under the rules of AWS; mails stay in the emulator."""
    settings = processes.Notify(
        **at.common(at.system_dsn), webhook_function="webhook_send", mail_from="tessera@localhost.localdomain"
    )
    send = webhook_send.make_handler(processes.WebhookSend())
    return replace(wiring.notify_wiring(settings), webhooks=WebhooksInProcess(send))


def lambda_visibility() -> dict[str, int]:
    """s, by queue."""
    return {queue: queues.lambda_visibility(TIMEOUTS[function]) for queue, function in WOKEN.items()}


def _slide_jobs(at: Addresses, options: StackOptions) -> processes.SlideJobs:
    return processes.SlideJobs(
        **at.common(at.system_dsn),
        slides_bucket=SLIDES,
        results_bucket=RESULTS,
        allowed_buckets=SHARED,
        queue_prefix=QUEUE_PREFIX,
        shard_tiles=options.shard_tiles,
    )


def _stitch(at: Addresses) -> processes.Stitch:
    return processes.Stitch(**at.common(at.system_dsn), results_bucket=RESULTS, queue_prefix=QUEUE_PREFIX)
