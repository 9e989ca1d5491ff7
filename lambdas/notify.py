"""Queue `notify`: send the mail and the webhook that were requested for a job's end, and the mails about a budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from adapters.ses import SesMail
from adapters.settings.processes import NotifySettings
from adapters.webhooks import LambdaWebhooks
from lambdas.cold_start import Handler, make_entry
from lambdas.logs import make_logger
from lambdas.queues.events import make_queue_handler
from lambdas.wiring import get_utc_now, make_aws_clients, make_function_tracer, make_system_ledger
from wsi.notices.notifying import notify
from wsi.ports.ledger import SystemLedger
from wsi.ports.notices import Mail, Webhooks
from wsi.ports.tracing import NO_TRACER, Tracer
from wsi.spans import describe_span
from wsi.spending.budgets import BUDGET, notify_admins

logger = make_logger("notify")


def make_handler(
    *,
    ledger: SystemLedger,
    webhooks: Webhooks,
    mail: Mail | None = None,
    page_url: str | None = None,
    clock: Callable[[], datetime] = get_utc_now,
    tracer: Tracer = NO_TRACER,
) -> Handler:
    """Return the handler. `mail` None: this installation sends no e-mails."""

    def process_message(body: dict[str, Any], traceparent: str | None) -> None:
        if BUDGET in body:
            told = notify_admins(UUID(body[BUDGET]), ledger=ledger, mail=mail, page_url=page_url)
            logger.info("told of the budget", extra={**body, **asdict(told)})
            return
        notified = notify(
            UUID(body["job_id"]),
            ledger=ledger,
            mail=mail,
            webhooks=webhooks,
            page_url=page_url,
            clock=clock,
        )
        describe_span(**asdict(notified))
        logger.info("notified", extra={**body, "traceparent": traceparent, **asdict(notified)})

    return make_queue_handler(process_message, logger, tracer=tracer)


def wire(settings: NotifySettings, *, webhooks: Webhooks | None = None) -> Handler:
    """Build the handler from settings. `webhooks` None: the function that the settings name sends them."""
    clients, sender = make_aws_clients(settings), settings.mail_from
    return make_handler(
        ledger=make_system_ledger(settings),
        webhooks=webhooks or LambdaWebhooks(clients, settings.webhook_function),
        mail=SesMail(clients, sender, settings.mail_configuration_set) if sender else None,
        page_url=settings.page_url,
        tracer=make_function_tracer(settings, clients, "notify"),
    )


handler = make_entry(NotifySettings, wire)
