"""The views that a process has recorded already: a viewer's forty tiles a second ask the database once."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol
from uuid import UUID

from wsi.records.identity import Actor

_KEPT: Final = 10_000

_Key = tuple[UUID, str, str, str]


class ViewLog(Protocol):
    """The part of `wsi.ports.audit.TenantAudit` that records views."""

    def audit_view(self, actor: Actor, action: str, subject: str) -> float: ...


class RecordedViews:
    """Records each view in the log, unless the log has said that it would write no line. Thread-safe."""

    def __init__(self, log: ViewLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._until: OrderedDict[_Key, float] = OrderedDict()
        self._lock = threading.Lock()

    def record(self, actor: Actor, action: str, subject: str) -> None:
        key = (actor.tenant, actor.subject, action, subject)
        with self._lock:
            if self._until.get(key, 0.0) > self._clock():
                return
        asked = self._clock()  # before the log's own clock is read, so that this one never lags behind
        seconds = self._log.audit_view(actor, action, subject)
        with self._lock:
            self._until[key] = asked + seconds
            self._until.move_to_end(key)
            if len(self._until) > _KEPT:
                self._until.popitem(last=False)
