"""The signing secret of webhooks, for a tenant's admins."""

from __future__ import annotations

from aws_lambda_powertools.event_handler.router import APIGatewayRouter
from pydantic import Field

from lambdas.http.requests import Caller, Wiring
from lambdas.schemas.common import Answer
from wsi.access import require
from wsi.records.identity import Role

router = APIGatewayRouter()


class WebhookSecretAnswer(Answer):
    secret: str = Field(description="whsec_…: verify webhook-signature with it, as Standard Webhooks says.")


@router.get("/webhooks/secret", tags=["webhooks"], summary="With what webhooks are signed")
def secret(caller: Caller, wiring: Wiring) -> WebhookSecretAnswer:
    require(caller, Role.ADMIN)
    return WebhookSecretAnswer(secret=wiring.ledger.get_webhook_secret(caller))


@router.post("/webhooks/secret/rotate", tags=["webhooks"], summary="A new one; the last one signs too for a day")
def rotate(caller: Caller, wiring: Wiring) -> WebhookSecretAnswer:
    require(caller, Role.ADMIN)
    return WebhookSecretAnswer(secret=wiring.ledger.get_webhook_secret(caller, rotate=True))
