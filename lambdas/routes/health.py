"""The health route, open to all: whether the API is up, and where it pushes updates."""

from __future__ import annotations

from aws_lambda_powertools.event_handler.router import APIGatewayRouter
from pydantic import Field

from lambdas.http.requests import Wiring
from lambdas.schemas.common import Answer

router = APIGatewayRouter()


class Health(Answer):
    status: str
    realtime_url: str | None = Field(description="Where job updates can be subscribed to (AppSync).")


@router.get("/health", tags=["health"], summary="Is the API up")
def health(wiring: Wiring) -> Health:
    return Health(status="ok", realtime_url=wiring.realtime_url)
