"""One POST to a webhook, and its answer."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookRequest:
    """One POST. The signature covers `body`, byte for byte."""

    url: str
    headers: Mapping[str, str]
    body: bytes

    def as_json(self) -> dict[str, Any]:
        """Return the request for another process that sends it."""
        return {"url": self.url, "headers": dict(self.headers), "body": base64.b64encode(self.body).decode()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> WebhookRequest:
        return cls(url=value["url"], headers=value["headers"], body=base64.b64decode(value["body"]))


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookAnswer:
    """The answer of a receiver: its `status`, or else `error`, one sentence."""

    status: int | None = None
    error: str | None = None

    @property
    def is_delivered(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        """True for status 410: the receiver never wants to hear of this again."""
        return self.status == 410
