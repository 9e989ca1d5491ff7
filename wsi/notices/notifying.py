"""The queue `notify`: e-mails and webhooks to those who asked to hear of a job's end. A failed try is repeated for up
to 18.6 h. A notice holds ids and a state: no name, no link to a file (DESIGN section 5)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from wsi.errors import Invalid, SourceUnavailable
from wsi.notices.webhooks import sign_message
from wsi.ports.ledger import SystemLedger
from wsi.ports.notices import Mail, Webhooks
from wsi.records.deliveries import Delivery, NoticeChannel
from wsi.records.jobs import Job
from wsi.records.webhooks import WebhookRequest
from wsi.states import JobState

CLAIM_SECONDS = 120.0  #: longer than a try takes; what was not recorded by then is tried again
#: s between one try and the next; 18.6 h in all. The last failure is the end.
PAUSES = (60.0, 300.0, 1800.0, 7200.0, 18_000.0, 39_600.0)
JITTER = 0.1  #: share of a pause, so that the tries for one receiver that was down do not come at once

_SAID = {
    JobState.COMPLETED: "Your analysis is complete.",
    JobState.COMPLETED_WITH_UNREADABLE_TILES: "Your analysis is complete; some tiles of the slide could not be read.",
    JobState.NO_TISSUE: "Your analysis is complete: no tissue was found on the slide.",
    JobState.FAILED: "Your analysis failed.",
    JobState.CANCELLED: "Your analysis was cancelled.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Notified:
    delivered: int = 0
    failed: int = 0  #: tries that are repeated later, or were the last


@dataclass(frozen=True, kw_only=True, slots=True)
class _Try:
    """The outcome of one try."""

    error: str | None = None  #: a sentence; None: delivered
    status: int | None = None  #: of a receiver that answered
    is_last: bool = False  #: another changes nothing


def notify(
    job_id: UUID,
    *,
    ledger: SystemLedger,
    mail: Mail | None,
    webhooks: Webhooks,
    page_url: str | None,
    clock: Callable[[], datetime],
) -> Notified:
    """Send the notices of the job that are due. With `mail` None this installation sends no e-mails, and the delivery
    says so."""
    brief = ledger.claim_deliveries(job_id, seconds=CLAIM_SECONDS)
    if brief is None:
        return Notified()
    delivered = 0
    for delivery in brief.deliveries:
        if delivery.channel is NoticeChannel.WEBHOOK:
            tried = _send_webhook(_make_webhook(brief.job, delivery, brief.secrets, clock()), webhooks)
        else:
            tried = _send_mail(brief.job, delivery, mail, page_url)
        is_delivered = tried.error is None
        ledger.record_delivery(
            delivery,
            delivered=is_delivered,
            status=tried.status,
            error=tried.error,
            retry_seconds=None if is_delivered or tried.is_last else compute_pause(delivery.attempt),
        )
        delivered += is_delivered
    return Notified(delivered=delivered, failed=len(brief.deliveries) - delivered)


def compute_pause(attempt: int) -> float | None:
    """Return the seconds until the next try, after try number `attempt` (the first is 1) failed, or None if there is
    none."""
    if attempt > len(PAUSES):
        return None
    return PAUSES[attempt - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  # a pause, no secret


def _make_webhook(job: Job, delivery: Delivery, secrets: tuple[str, ...], now: datetime) -> WebhookRequest:
    body = json.dumps(
        {
            "type": "job.finished",
            "timestamp": now.isoformat(timespec="seconds"),
            "data": {"job_id": str(job.id), "version": delivery.job_version, "status": job.state.value},
        },
        separators=(",", ":"),
    ).encode()
    # The id stays the same from try to try: that is how a receiver knows what it has heard already.
    message_id = f"{job.id}.{delivery.job_version}"
    return WebhookRequest(
        url=delivery.target, headers=sign_message(message_id, int(now.timestamp()), body, of=secrets), body=body
    )


def _send_webhook(request: WebhookRequest, webhooks: Webhooks) -> _Try:
    answer = webhooks.send(request)
    if answer.is_delivered:
        return _Try(status=answer.status)
    error = answer.error or f"The receiver answered {answer.status}."
    return _Try(error=error, status=answer.status, is_last=answer.is_gone)


def _send_mail(job: Job, delivery: Delivery, mail: Mail | None, page_url: str | None) -> _Try:
    if mail is None:
        return _Try(error="This installation sends no e-mails.", is_last=True)
    said = _SAID[job.state]
    where = f"{page_url}/jobs/{job.id}" if page_url else f"Job {job.id}."
    try:
        mail.send(to=delivery.target, subject=said.rstrip("."), text=f"{said}\n\n{where}\n")
    except Invalid as error:
        return _Try(error=error.sentence, is_last=True)
    except SourceUnavailable as error:
        return _Try(error=error.sentence)
    return _Try()
