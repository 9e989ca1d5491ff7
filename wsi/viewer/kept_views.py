"""Slides that a process keeps open for viewers: SQL is asked once for each slide and tenant, not once for each tile."""

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
from wsi.viewer.viewing import View, check_sources, check_viewable, compute_view_etag, open_view, update_view

KEPT: Final = 8  #: slides; the index of 1,000,000 tiles takes 30 MB
#: s, for which what SQL said holds: so long a deleted or archived slide, or one whose source was removed, may still be
#: shown, if its bytes are there.
CHECKED_SECONDS: Final = 300.0


class SlideRecords(Protocol):
    """The part of `wsi.ports.ledger.TenantLedger` that a viewer needs."""

    def get_slide(self, actor: Actor, slide_id: UUID) -> Slide: ...


@dataclass(frozen=True, slots=True)
class _Kept:
    view: View
    until: float  #: of the clock


class KeptViews:
    """A cache of open slides. Safe to use from several threads."""

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
        """Return the open view of a slide. `etag` is that of the tiles that the caller knows. If the cached view has
        another one, and if the caller knows none, SQL is asked: a user may have stated another image or scale. Raises
        what `open_view` does, and NotFound for a slide that the actor's tenant does not have."""
        key = (actor.tenant, slide_id)
        if (kept := self._fresh(key, etag)) is not None:
            return kept
        with self._opening:  # a viewer asks for its first tiles all at once
            if (kept := self._fresh(key, etag)) is not None:
                return kept
            return self._keep(key, self._check_or_open(actor, slide_id, key))

    def _fresh(self, key: tuple[UUID, UUID], etag: str | None) -> View | None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept.view.etag != etag or self._clock() >= kept.until:
                return None
            self._kept.move_to_end(key)
            return kept.view

    def _check_or_open(self, actor: Actor, slide_id: UUID, key: tuple[UUID, UUID]) -> View:
        """Return the cached view if SQL still names the same files and the slide is READY; otherwise open the slide
        again."""
        slide = self._ledger.get_slide(actor, slide_id)
        with self._lock:
            kept = self._kept.pop(key, None)
        check_viewable(slide)
        check_sources(slide, self._slides)
        if kept is not None and kept.view.etag == compute_view_etag(slide):
            return update_view(kept.view, slide)
        return open_view(slide, slides=self._slides, objects=self._objects)

    def _keep(self, key: tuple[UUID, UUID], view: View) -> View:
        with self._lock:
            self._kept[key] = _Kept(view, self._clock() + CHECKED_SECONDS)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return view
