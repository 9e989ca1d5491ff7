"""Owners of models: the installation, whose models all tenants use, or one tenant. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from wsi.errors import Conflict, Forbidden
from wsi.models.registration_rules import make_version_taken_error
from wsi.records.models import ModelVersion


def select_usable(models: Iterable[ModelVersion]) -> tuple[ModelVersion, ...]:
    """Return the versions that a tenant's names mean, by name and version, of its own and the installation's.

    Its own hides a version of the installation with the same name and version, and its default of a name is the
    default.
    """
    known = sorted(models, key=lambda model: (model.name, model.version, model.owner is None))
    defaults = {model.name for model in known if model.owner is not None and model.is_default}
    usable: dict[tuple[str, str], ModelVersion] = {}
    for model in known:
        stays = model.owner is not None or model.name not in defaults
        usable.setdefault((model.name, model.version), replace(model, is_default=model.is_default and stays))
    return tuple(usable.values())


def make_not_own_model_error(name: str) -> Forbidden:
    return Forbidden(f"The model {name} belongs to the installation: only its operator chooses the default version.")


def check_name(known: Sequence[tuple[str, UUID | None]], name: str, version: str) -> None:
    """Raise Conflict if a tenant may not add the version: `known` has the version and owner of all that it sees under
    this name. A name of the installation stays the installation's, so that a job that names it means the same model
    tomorrow."""
    own = {known_version for known_version, owner in known if owner is not None}
    if version in own:
        raise make_version_taken_error()
    if known and not own:
        raise Conflict(f"The model {name} belongs to the installation: add yours under another name.")
