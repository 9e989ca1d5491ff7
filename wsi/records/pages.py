"""One page of a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    items: tuple[Item, ...]
    next_cursor: str | None  #: opaque; None on the last page
