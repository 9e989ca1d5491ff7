"""`wsi.ports.notices` in memory."""

from __future__ import annotations

from wsi.errors import SourceUnavailable
from wsi.records.webhooks import WebhookAnswer, WebhookRequest


class MemoryMail:
    """Keeps what was sent, as (to, subject, text); `refusing` makes it fail as a service that is down."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []
        self.refusing = False

    def send(self, *, to: str, subject: str, text: str) -> None:
        if self.refusing:
            raise SourceUnavailable("The mail service did not take the message; it is sent again.")
        self.sent.append((to, subject, text))


class MemoryWebhooks:
    """Keeps what was sent; answers with `answer`."""

    def __init__(self) -> None:
        self.sent: list[WebhookRequest] = []
        self.answer = WebhookAnswer(status=204)

    def send(self, request: WebhookRequest) -> WebhookAnswer:
        self.sent.append(request)
        return self.answer
