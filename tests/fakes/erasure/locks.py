"""`wsi.ports.objects.ObjectLocks` in memory, with `retain` in place of the bucket's owner."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from wsi.ports.objects import ObjectLock


class MemoryLocks:
    """The locks of the objects that `list_keys` returns."""

    def __init__(
        self, list_keys: Callable[[], Iterable[str]], clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._list_keys = list_keys
        self._clock = clock
        self.held: set[str] = set()
        self.asked: list[str] = []  #: prefixes whose locks were read
        self._retained: dict[str, datetime] = {}

    def retain(self, key: str, until: datetime) -> None:
        self._retained[key] = until

    def find_lock(self, *prefixes: str) -> ObjectLock | None:
        self.asked.extend(prefixes)
        keys = self._select(prefixes)
        if self.held & keys:
            return ObjectLock(None)
        now = self._clock()
        ends = [self._retained[key] for key in keys & self._retained.keys() if self._retained[key] > now]
        return ObjectLock(max(ends)) if ends else None

    def set_legal_hold(self, *prefixes: str, held: bool) -> None:
        keys = self._select(prefixes)
        self.held = self.held | keys if held else self.held - keys

    def _select(self, prefixes: tuple[str, ...]) -> set[str]:
        return {key for key in self._list_keys() if key.startswith(prefixes)}
