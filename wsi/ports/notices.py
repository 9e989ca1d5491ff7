"""Notices: mail to a person, a webhook to a service. SQL records which were delivered."""

from __future__ import annotations

from typing import Protocol

from wsi.records.webhooks import WebhookAnswer, WebhookRequest


class Mail(Protocol):
    def send(self, *, to: str, subject: str, text: str) -> None:
        """Send a mail. Raises SourceUnavailable if the mail service did not accept it; Invalid if it never will."""
        ...


class Webhooks(Protocol):
    def send(self, request: WebhookRequest) -> WebhookAnswer:
        """Send a webhook and return its receiver's answer. Raises SourceUnavailable if it could not be sent at all;
        that does not count as an attempt."""
        ...
