"""`wsi.ports.notices.Webhooks` in this process: the handler of `webhook_send`, called without Lambda between."""

from __future__ import annotations

from adapters.settings.functions import TIMEOUTS
from lambdas.cold_start import Handler
from local.lambda_context import LambdaContext
from wsi.records.webhooks import WebhookAnswer, WebhookRequest

FUNCTION = "webhook_send"


class WebhooksInProcess:
    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def send(self, request: WebhookRequest) -> WebhookAnswer:
        context = LambdaContext(FUNCTION, TIMEOUTS[FUNCTION])
        return WebhookAnswer(**self._handler(request.as_json(), context))
