"""The part of the ledger that reads model versions."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from wsi.records.identity import Actor
from wsi.records.models import ModelVersion
from wsi.records.slides import Slide


class TenantModels(Protocol):
    """The API's reading of model versions."""

    def list_models(self, actor: Actor) -> tuple[ModelVersion, ...]:
        """List the versions of the tenant and of the installation, ordered by name and version, as
        `wsi.models.owners.select_usable` selects them."""
        ...

    def get_model(
        self, actor: Actor, name: str, version: str | None = None, *, digest: str | None = None
    ) -> ModelVersion:
        """Return the named version, or the default one, with this digest if one is given. The tenant's own comes before
        the installation's. Raises NotFound."""
        ...

    def find_inputs(
        self, actor: Actor, slide_id: UUID, model: str, version: str | None
    ) -> tuple[Slide, ModelVersion | None]:
        """Return a slide and a model version in one transaction; None for a model that `get_model` would not find.
        Raises NotFound for the slide."""
        ...
