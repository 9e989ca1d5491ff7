"""`wsi.ports.notices.Webhooks` in this process: the handler of `webhook_send`, called without Lambda between."""

from __future__ import annotations

import base64

from lambdas.cold_start import Handler
from local.lambda_context import LambdaContext
from wsi.webhooks import WebhookAnswer, WebhookRequest


class WebhooksInProcess:
    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def send(self, request: WebhookRequest) -> WebhookAnswer:
        event = {
            "url": request.url,
            "headers": dict(request.headers),
            "body": base64.b64encode(request.body).decode(),
        }
        return WebhookAnswer(**self._handler(event, LambdaContext("webhook_send", 15.0)))
