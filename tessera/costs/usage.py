"""The work of GPU workers by day: the answer of the deployment's action `list_usage`."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tessera.local_run.inputs import UsageError


class UsageDay(BaseModel):
    """A day of all tenants. `worker_seconds` are those of finished shards, without boots and without waiting."""

    model_config = ConfigDict(frozen=True)

    day: date
    tiles: int = Field(ge=0)
    worker_seconds: float = Field(ge=0, allow_inf_nan=False)


class Usage(BaseModel):
    """The days on which work was done, of the last `days` days."""

    model_config = ConfigDict(frozen=True)

    days: int = Field(ge=1)
    usage: tuple[UsageDay, ...]

    @property
    def gpu_hours(self) -> float:
        return sum(one.worker_seconds for one in self.usage) / 3600

    @property
    def mean_workers(self) -> float:
        """The number of workers that the same work would keep busy all the time."""
        return self.gpu_hours / (24 * self.days)


def read_usage(path: str) -> Usage:
    """Read the answer of `list_usage` from a file, or from stdin for "-". Raises UsageError."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return Usage.model_validate_json(text)
    except ValidationError as error:
        raise UsageError(
            f"{'stdin' if path == '-' else path} is not an answer of list_usage; ask for one with"
            """ scripts/administer.sh ENVIRONMENT '{"list_usage": {}}'"""
        ) from error
