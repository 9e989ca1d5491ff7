"""One page of a list."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from wsi.errors import Invalid

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    items: tuple[Item, ...]
    next_cursor: str | None  #: opaque; None on the last page


def make_cursor(created_at: datetime, item_id: UUID) -> str:
    """Return the cursor of the page after this item, in a list from the newest to the oldest and then by id."""
    return base64.urlsafe_b64encode(f"{created_at.isoformat()} {item_id}".encode()).decode()


def read_cursor(cursor: str) -> tuple[datetime, UUID]:
    """Return the creation time and the id that `make_cursor` put into the cursor. Raises Invalid for any other
    text."""
    try:
        created_at, item_id = base64.urlsafe_b64decode(cursor.encode()).decode().split(" ")
        moment = datetime.fromisoformat(created_at)
        if moment.tzinfo is None:
            raise ValueError("a time without its zone")
        return moment, UUID(item_id)
    except ValueError as error:
        raise Invalid("The cursor is not one that this list gave; start again without it.") from error
