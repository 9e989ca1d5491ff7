"""The Lambda functions of the stack, built in this process from settings, and what wakes each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adapters.settings import processes
from adapters.settings.queues import HEAVY, WOKEN
from lambdas import (
    api,
    authorizer,
    inspect,
    notify,
    operate,
    plan,
    relay,
    stitch,
    submit,
    sweep,
    tiles,
    webhook_send,
)
from lambdas.cold_start import Handler
from local.operations import OperationsInProcess
from local.options import QUEUE_PREFIX, SHARED, Buckets, StackOptions
from local.pollers import Mapped, Schedule
from local.webhooks import WebhooksInProcess
from wsi.jobs.heavy import advance_job

#: s: a worker of this machine is a process that imports torch, no node that boots.
WORKER_START, SLOW_WORKER_START = 10, 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Addresses:
    """Addresses of the parts of a stack."""

    region: str
    endpoint_url: str
    api_dsn: str
    system_dsn: str
    issuer: str
    jwks_url: str
    client_id: str
    traces: str  #: File of the spans of this process.
    buckets: Buckets

    @property
    def user_pool(self) -> str:
        return self.issuer.rsplit("/", 1)[-1]

    def make_common_settings(self, dsn: str) -> dict[str, Any]:
        """Return the settings of every process, with the DSN of its database role."""
        return {"region": self.region, "endpoint_url": self.endpoint_url, "database_dsn": dsn}

    def make_traced_settings(self, dsn: str) -> dict[str, Any]:
        """Return the settings of every process that a slide passes through."""
        return {**self.make_common_settings(dsn), "traces": self.traces}


def make_authorizer_handler(at: Addresses) -> Handler:
    settings = processes.AuthorizerSettings(
        **at.make_common_settings(at.api_dsn), issuer=at.issuer, jwks_url=at.jwks_url, client_id=at.client_id
    )
    return authorizer.wire(settings)


def make_api_handler(at: Addresses, *, realtime_url: str, owner_dsn: str | None = None) -> Handler:
    """Return the handler of the API. Without the owner's DSN, it carries out nothing for operators."""
    settings = processes.ApiSettings(
        **at.make_traced_settings(at.api_dsn),
        slides_bucket=at.buckets.slides,
        results_bucket=at.buckets.results,
        models_bucket=at.buckets.models,
        allowed_buckets=SHARED,
        queue_prefix=QUEUE_PREFIX,
        realtime_url=realtime_url,
        worker_start_seconds=WORKER_START,
        slow_worker_start_seconds=SLOW_WORKER_START,
        issuer=at.issuer,
        user_pool=at.user_pool,
        mails_invitations=False,
    )
    if owner_dsn is None:
        return api.wire(settings)
    owner = processes.OwnerSettings(**at.make_common_settings(owner_dsn))
    return api.wire(settings, OperationsInProcess(operate.wire(owner)))


def make_submit_handler(at: Addresses) -> Handler:
    settings = processes.SubmitSettings(
        **at.make_traced_settings(at.api_dsn), results_bucket=at.buckets.results, queue_prefix=QUEUE_PREFIX
    )
    return submit.wire(settings)


def make_tiles_handler(at: Addresses) -> Handler:
    settings = processes.TilesSettings(
        **at.make_common_settings(at.api_dsn),
        slides_bucket=at.buckets.slides,
        results_bucket=at.buckets.results,
        allowed_buckets=SHARED,
    )
    return tiles.wire(settings)


def make_queue_functions(at: Addresses, options: StackOptions, *, graphql_url: str) -> tuple[Mapped, ...]:
    handlers = {
        "wake": make_relay_handler(at, graphql_url=graphql_url),
        "inspect": inspect.wire(_slide_jobs(at, options)),
        "plan": plan.wire(_slide_jobs(at, options)),
        "stitch": stitch.wire(_stitch(at)),
        "notify": make_notify_handler(at),
    }
    # A pod of its own on AWS (gpu_worker.heavy), since a function there lacks the time and the disk.
    heavy = Mapped(queue=HEAVY, function=WOKEN["plan"], handler=plan.wire(_slide_jobs(at, options), advance_job))
    return (heavy, *(Mapped(queue=name, function=WOKEN[name], handler=made) for name, made in handlers.items()))


def make_schedules(at: Addresses, options: StackOptions, *, graphql_url: str) -> tuple[Schedule, ...]:
    every = options.schedule_seconds
    return (
        Schedule("sweep", make_sweep_handler(at, options, stuck_seconds=options.stuck_seconds), seconds=every),
        Schedule("relay", make_relay_handler(at, graphql_url=graphql_url), seconds=every),
    )


def make_sweep_handler(at: Addresses, options: StackOptions, *, stuck_seconds: float) -> Handler:
    settings = processes.SweepSettings(
        **at.make_common_settings(at.system_dsn),
        slides_bucket=at.buckets.slides,
        results_bucket=at.buckets.results,
        queue_prefix=QUEUE_PREFIX,
        upload_days=options.upload_days,
        stuck_seconds=stuck_seconds,
    )
    return sweep.wire(settings)


def make_relay_handler(at: Addresses, *, graphql_url: str) -> Handler:
    settings = processes.RelaySettings(
        **at.make_traced_settings(at.system_dsn), queue_prefix=QUEUE_PREFIX, appsync_url=graphql_url
    )
    return relay.wire(settings)


def make_notify_handler(at: Addresses) -> Handler:
    """Return the handler of `notify`. Webhooks are sent from here, under the rules of AWS; mails stay in the
    emulator."""
    settings = processes.NotifySettings(
        **at.make_traced_settings(at.system_dsn),
        webhook_function="webhook_send",
        mail_from="tessera@localhost.localdomain",
    )
    send = webhook_send.make_handler(processes.WebhookSendSettings())
    return notify.wire(settings, webhooks=WebhooksInProcess(send))


def _slide_jobs(at: Addresses, options: StackOptions) -> processes.SlideJobSettings:
    return processes.SlideJobSettings(
        **at.make_traced_settings(at.system_dsn),
        slides_bucket=at.buckets.slides,
        results_bucket=at.buckets.results,
        allowed_buckets=SHARED,
        queue_prefix=QUEUE_PREFIX,
        shard_tiles=options.shard_tiles,
    )


def _stitch(at: Addresses) -> processes.StitchSettings:
    return processes.StitchSettings(
        **at.make_traced_settings(at.system_dsn), results_bucket=at.buckets.results, queue_prefix=QUEUE_PREFIX
    )
