"""Open to all: is the API up, and what does it offer."""

from __future__ import annotations

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from lambdas.schemas.common import Answer

router = APIGatewayRouter()


class Health(Answer):
    status: str


@router.get("/health", tags=["health"], summary="Is the API up")
def health() -> Health:
    return Health(status="ok")
