"""Slides that a process keeps open for viewers: SQL is asked once a slide and tenant, not once a tile."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from wsi.ports.objects import Objects, SlideStore
from wsi.records.identity import Actor
from wsi.records.slides import Slide
from wsi.viewing import View, check_viewable, open_view, told_anew, view_etag

KEPT: Final = 8  #: slides; the index of 1,000,000 tiles takes 30 MB
#: s, for which what SQL said holds: so long a deleted or archived slide may still be shown, if its bytes are there.
CHECKED_SECONDS: Final = 300.0


class SlideRecords(Protocol):
    """What a viewer needs of `wsi.ports.ledger.TenantLedger`."""

    def slide(self, actor: Actor, slide_id: UUID) -> Slide: ...


@dataclass(frozen=True, slots=True)
class _Kept:
    view: View
    until: float  #: of the clock


class KeptViews:
    """Safe to use from several threads."""

    def __init__(
        self,
        *,
        ledger: SlideRecords,
        slides: SlideStore,
        objects: Objects,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger = ledger
        self._slides = slides
        self._objects = objects
        self._clock = clock
        self._kept: OrderedDict[tuple[UUID, UUID], _Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._opening = threading.Lock()

    def view(self, actor: Actor, slide_id: UUID, *, etag: str | None) -> View:
        """`etag`: of the tiles that the caller knows of. Where another one is kept, and where the caller knows none,
        SQL is asked: a user may have stated another image or scale. Raises what `open_view` does, and NotFound for a
        slide that the actor's tenant does not have."""
        key = (actor.tenant, slide_id)
        if (kept := self._fresh(key, etag)) is not None:
            return kept
        with self._opening:  # a viewer asks for its first tiles all at once
            if (kept := self._fresh(key, etag)) is not None:
                return kept
            return self._keep(key, self._checked(actor, slide_id, key))

    def _fresh(self, key: tuple[UUID, UUID], etag: str | None) -> View | None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept.view.etag != etag or self._clock() >= kept.until:
                return None
            self._kept.move_to_end(key)
            return kept.view

    def _checked(self, actor: Actor, slide_id: UUID, key: tuple[UUID, UUID]) -> View:
        """What is kept already where SQL names the same files, READY as before; otherwise opened anew."""
        slide = self._ledger.slide(actor, slide_id)
        with self._lock:
            kept = self._kept.pop(key, None)
        check_viewable(slide)
        if kept is not None and kept.view.etag == view_etag(slide):
            return told_anew(kept.view, slide)
        return open_view(slide, slides=self._slides, objects=self._objects)

    def _keep(self, key: tuple[UUID, UUID], view: View) -> View:
        with self._lock:
            self._kept[key] = _Kept(view, self._clock() + CHECKED_SECONDS)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return view
