"""`wsi.ports.notices.Webhooks` by a function outside the VPC: a URL that a customer chose is not opened from inside."""

from __future__ import annotations

import json

from botocore.exceptions import BotoCoreError, ClientError

from adapters.aws_clients import AwsClients
from wsi.errors import SourceUnavailable
from wsi.records.webhooks import WebhookAnswer, WebhookRequest


class LambdaWebhooks:
    """Webhooks by a function. `function`: name or ARN of `lambdas.webhook_send`."""

    def __init__(self, clients: AwsClients, function: str) -> None:
        self._clients = clients
        self._function = function

    def send(self, request: WebhookRequest) -> WebhookAnswer:
        payload = json.dumps(request.as_json()).encode()
        try:
            answer = self._clients.get_client("lambda").invoke(FunctionName=self._function, Payload=payload)
            answered = answer["Payload"].read()
        except (ClientError, BotoCoreError) as error:
            raise SourceUnavailable("The function that sends webhooks cannot be called; trying again.") from error
        if "FunctionError" in answer:  # its timeout: a receiver that delays each byte
            return WebhookAnswer(error="The receiver did not answer in time.")
        return WebhookAnswer(**json.loads(answered))
