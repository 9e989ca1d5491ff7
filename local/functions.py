"""The Lambda functions of the stack, built in this process from settings, and what wakes each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adapters.settings import processes
from lambdas import api, authorizer, inspect, plan, relay, stitch, sweep, wiring
from local.options import QUEUE_PREFIX, RESULTS, SHARED, SLIDES, TIMEOUTS, StackOptions
from local.pollers import Mapped, Schedule

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


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


def authorizer_handler(at: Addresses) -> Handler:
    settings = processes.Authorizer(
        region=at.region,
        endpoint_url=at.endpoint_url,
        database_dsn=at.api_dsn,
        issuer=at.issuer,
        jwks_url=at.jwks_url,
        client_id=at.client_id,
    )
    return authorizer.make_handler(wiring.authorizer_wiring(settings))


def api_handler(at: Addresses, *, realtime_url: str) -> Handler:
    settings = processes.Api(
        region=at.region,
        endpoint_url=at.endpoint_url,
        database_dsn=at.api_dsn,
        slides_bucket=SLIDES,
        results_bucket=RESULTS,
        allowed_buckets=SHARED,
        queue_prefix=QUEUE_PREFIX,
        realtime_url=realtime_url,
    )
    return api.make_handler(wiring.api_wiring(settings))


def queue_functions(at: Addresses, options: StackOptions, *, graphql_url: str) -> tuple[Mapped, ...]:
    handlers = {
        "inspect": inspect.make_handler(wiring.slide_jobs_wiring(_slide_jobs(at, options))),
        "plan": plan.make_handler(wiring.slide_jobs_wiring(_slide_jobs(at, options))),
        "stitch": stitch.make_handler(wiring.stitch_wiring(_stitch(at))),
    }
    woken = Mapped(
        queue="wake",
        function="relay",
        handler=relay_handler(at, graphql_url=graphql_url),
        timeout_seconds=TIMEOUTS["relay"],
        batch_size=10,  # one run of the relay answers them all
    )
    return (
        woken,
        *(
            Mapped(queue=name, function=name, handler=handler, timeout_seconds=TIMEOUTS[name])
            for name, handler in handlers.items()
        ),
    )


def schedules(at: Addresses, options: StackOptions, *, graphql_url: str) -> tuple[Schedule, ...]:
    sweeping = processes.Sweep(
        region=at.region,
        endpoint_url=at.endpoint_url,
        database_dsn=at.system_dsn,
        queue_prefix=QUEUE_PREFIX,
        slides_bucket=SLIDES,
        upload_days=options.upload_days,
        stuck_seconds=options.stuck_seconds,
    )
    every = options.schedule_seconds
    return (
        Schedule("sweep", sweep.make_handler(wiring.sweep_wiring(sweeping)), seconds=every),
        Schedule("relay", relay_handler(at, graphql_url=graphql_url), seconds=every),
    )


def relay_handler(at: Addresses, *, graphql_url: str) -> Handler:
    settings = processes.Relay(
        region=at.region,
        endpoint_url=at.endpoint_url,
        database_dsn=at.system_dsn,
        queue_prefix=QUEUE_PREFIX,
        appsync_url=graphql_url,
    )
    return relay.make_handler(wiring.relay_wiring(settings))


def lambda_visibility() -> dict[str, int]:
    """s, by queue: six times the timeout of the function that it wakes (F-7)."""
    functions = {"wake": "relay", "inspect": "inspect", "plan": "plan", "stitch": "stitch"}
    return {queue: 6 * TIMEOUTS[function] for queue, function in functions.items()}


def _slide_jobs(at: Addresses, options: StackOptions) -> processes.SlideJobs:
    return processes.SlideJobs(
        region=at.region,
        endpoint_url=at.endpoint_url,
        database_dsn=at.system_dsn,
        slides_bucket=SLIDES,
        results_bucket=RESULTS,
        allowed_buckets=SHARED,
        queue_prefix=QUEUE_PREFIX,
        shard_tiles=options.shard_tiles,
    )


def _stitch(at: Addresses) -> processes.Stitch:
    return processes.Stitch(
        region=at.region,
        endpoint_url=at.endpoint_url,
        database_dsn=at.system_dsn,
        results_bucket=RESULTS,
        queue_prefix=QUEUE_PREFIX,
    )
