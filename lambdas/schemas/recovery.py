"""Requests of an operator to `recover`, after the database was restored next to buckets of other names."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from lambdas.schemas.actions import OneAction
from lambdas.schemas.common import Body


class CountRecords(Body):
    pass


class RecoverModels(Body):
    pass


class _RecoveryPage(Body):
    after: UUID | None = None  #: `next` of the page before
    limit: Annotated[int, Field(ge=1, le=1_000)] = 200


class RecoverSlides(_RecoveryPage):
    pass


class RecoverJobs(_RecoveryPage):
    reads_results: bool = False  #: compare the SHA-256 of each result file, which reads it, instead of its size


class RecoveryAction(OneAction):
    """Exactly one of the actions."""

    count_records: CountRecords | None = None
    recover_models: RecoverModels | None = None
    recover_slides: RecoverSlides | None = None
    recover_jobs: RecoverJobs | None = None
