"""Who asked to hear of a job's end is told."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from tests.contracts.ledger_world import MODEL
from tests.fakes.notices import MemoryMail, MemoryWebhooks
from tests.installation import ANALYST, Installation
from wsi.errors import Invalid
from wsi.jobs.jobs import JobRequest, submit_job
from wsi.notices.notifying import PAUSES, Notified, compute_pause, notify
from wsi.notices.webhooks import sign_message
from wsi.ports.notices import Mail
from wsi.records.deliveries import Delivery
from wsi.records.webhooks import WebhookAnswer
from wsi.tracing import make_traceparent


@dataclass
class Lab:
    installation: Installation
    job: UUID
    mail: MemoryMail = field(default_factory=MemoryMail)
    webhooks: MemoryWebhooks = field(default_factory=MemoryWebhooks)

    def notify(self, *, mail: Mail | None = None) -> Notified:
        return notify(
            self.job,
            ledger=self.installation.ledger,
            mail=mail or self.mail,
            webhooks=self.webhooks,
            page_url="https://wsi.example.org",
            clock=self.installation.clock,
        )

    def deliveries(self) -> tuple[Delivery, ...]:
        return self.installation.ledger.list_deliveries(ANALYST, self.job)


class RefusingMail:
    def send(self, *, to: str, subject: str, text: str) -> None:
        raise Invalid("The mail service refused the message (MessageRejected).")


def ended(**asked: str) -> Lab:
    installation = Installation()
    request = JobRequest(slide_id=installation.ready(), model=MODEL.name, **asked)
    job = submit_job(
        ANALYST,
        request,
        idempotency_key=None,
        traceparent=make_traceparent(),
        ledger=installation.ledger,
        queues=installation.queues,
    ).job
    assert installation.ledger.begin_planning(job.id)
    assert installation.ledger.finish_without_tissue(job.id, ())
    return Lab(installation, job.id)


def test_the_mail_holds_a_sentence_and_a_link() -> None:
    lab = ended(notify_email="a@lab.example")
    assert lab.notify() == Notified(delivered=1)
    ((to, subject, text),) = lab.mail.sent
    assert to == "a@lab.example"
    assert subject == "Your analysis is complete: no tissue was found on the slide"
    assert f"https://wsi.example.org/jobs/{lab.job}" in text


def test_a_mail_is_sent_once_however_often_the_message_comes() -> None:
    lab = ended(notify_email="a@lab.example")
    assert [lab.notify().delivered, lab.notify().delivered] == [1, 0]
    assert len(lab.mail.sent) == 1


def test_a_mail_that_was_not_taken_is_tried_again() -> None:
    lab = ended(notify_email="a@lab.example")
    lab.mail.refusing = True
    assert lab.notify() == Notified(failed=1)
    (waiting,) = lab.deliveries()
    assert waiting.due_at is not None
    assert waiting.error == "The mail service did not take the message; it is sent again."


def test_a_mail_that_was_refused_for_good_is_not_tried_again() -> None:
    lab = ended(notify_email="a@lab.example")
    assert lab.notify(mail=RefusingMail()) == Notified(failed=1)
    (kept,) = lab.deliveries()
    assert (kept.due_at, kept.error) == (None, "The mail service refused the message (MessageRejected).")


def test_without_a_sender_the_delivery_says_so() -> None:
    lab = ended(notify_email="a@lab.example")
    notify(
        lab.job,
        ledger=lab.installation.ledger,
        mail=None,
        webhooks=lab.webhooks,
        page_url=None,
        clock=lab.installation.clock,
    )
    (kept,) = lab.deliveries()
    assert (kept.due_at, kept.error) == (None, "This installation sends no e-mails.")


def test_the_webhook_holds_ids_and_is_signed_over_its_very_bytes() -> None:
    lab = ended(notify_webhook="https://lab.example/hook")
    assert lab.notify() == Notified(delivered=1)
    (sent,) = lab.webhooks.sent
    told = json.loads(sent.body)
    assert told["data"] == {"job_id": str(lab.job), "version": 3, "status": "NO_TISSUE"}
    secret = lab.installation.ledger.get_webhook_secret(ANALYST)
    timestamp = int(sent.headers["webhook-timestamp"])
    assert sent.headers == sign_message(f"{lab.job}.3", timestamp, sent.body, of=[secret])


@pytest.mark.parametrize(
    ("answer", "error", "is_tried_again"),
    [
        (WebhookAnswer(status=500), "The receiver answered 500.", True),
        (WebhookAnswer(error="The receiver cannot be reached."), "The receiver cannot be reached.", True),
        (WebhookAnswer(status=410), "The receiver answered 410.", False),
    ],
)
def test_a_webhook_that_was_not_taken(answer: WebhookAnswer, error: str, is_tried_again: bool) -> None:
    lab = ended(notify_webhook="https://lab.example/hook")
    lab.webhooks.answer = answer
    assert lab.notify() == Notified(failed=1)
    (kept,) = lab.deliveries()
    assert (kept.error, kept.due_at is not None) == (error, is_tried_again)


def test_pauses_grow_and_end_within_a_day() -> None:
    pauses = [compute_pause(attempt) for attempt in range(1, len(PAUSES) + 1)]
    assert all(got and 0.9 * asked <= got <= 1.1 * asked for asked, got in zip(PAUSES, pauses, strict=True))
    assert 1.1 * sum(PAUSES) < 86_400
    assert compute_pause(len(PAUSES) + 1) is None


def test_a_job_that_is_not_there_is_no_error() -> None:
    lab = ended()
    lab.job = UUID(int=1)
    assert lab.notify() == Notified()
