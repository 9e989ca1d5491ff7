"""Models: the registered versions, page by page."""

from __future__ import annotations

from wsi.ports.ledger import TenantLedger
from wsi.records.identity import Actor
from wsi.records.models import ModelVersion
from wsi.records.pages import Page


def list_models(actor: Actor, *, cursor: str | None, limit: int, ledger: TenantLedger) -> Page[ModelVersion]:
    """Return a page of the versions that the actor may use, by name and version. The cursor names the last version of
    the page before, so that pages stay correct while versions are added."""
    known = sorted(ledger.list_models(actor), key=_place)
    rest = [model for model in known if cursor is None or _place(model) > cursor]
    page = tuple(rest[:limit])
    return Page(items=page, next_cursor=_place(page[-1]) if len(rest) > limit else None)


def _place(model: ModelVersion) -> str:
    return f"{model.name}@{model.version}"
