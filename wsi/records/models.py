"""A registered model version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelVersion:
    name: str
    version: str
    digest: str  #: hex sha256 of the package; of a built-in, of its card and code version
    card: dict[str, Any]  #: `ModelCard.as_json()`
    package_uri: str | None  #: "s3://…/models/<digest>/"; None for a built-in
    is_default: bool = True  #: the version that a job takes when it names only the model
    owner: UUID | None = None  #: the tenant; None: the installation, whose models all tenants use
