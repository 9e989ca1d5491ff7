"""How notices leave: mail to a person, a webhook to a service. SQL remembers which were delivered."""

from __future__ import annotations

from typing import Protocol

from wsi.webhooks import WebhookAnswer, WebhookRequest


class Mail(Protocol):
    def send(self, *, to: str, subject: str, text: str) -> None:
        """Raises SourceUnavailable when the mail service did not take it; Invalid when it never will."""
        ...


class Webhooks(Protocol):
    def send(self, request: WebhookRequest) -> WebhookAnswer:
        """Raises SourceUnavailable when there was nobody to send it, so that it counts as no try."""
        ...
