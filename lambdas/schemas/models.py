"""Models."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lambdas.schemas.common import Answer
from wsi.records.models import ModelVersion
from wsi.records.pages import Page


class ModelAnswer(Answer):
    name: str
    version: str
    digest: str
    is_default: bool = Field(description="The version that a job takes when it names only the model.")
    card: dict[str, Any]

    @staticmethod
    def of(model: ModelVersion) -> ModelAnswer:
        return ModelAnswer(
            name=model.name,
            version=model.version,
            digest=model.digest,
            is_default=model.is_default,
            card=model.card,
        )


class ModelList(Answer):
    items: list[ModelAnswer]
    next_cursor: str | None

    @staticmethod
    def of(page: Page[ModelVersion]) -> ModelList:
        return ModelList(items=[ModelAnswer.of(model) for model in page.items], next_cursor=page.next_cursor)
