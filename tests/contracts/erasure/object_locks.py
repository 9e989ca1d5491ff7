"""What every `ObjectLocks` does. A suite gives `locks`, `put(key)`, and `retain(key, until)`, as a bucket's owner
does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from wsi.ports.objects import ObjectLock, ObjectLocks

Put = Callable[[str], None]
Retain = Callable[[str, datetime], None]
FIRST = datetime(2097, 1, 1, tzinfo=UTC)
LATER = datetime(2098, 1, 1, tzinfo=UTC)


class ObjectLocksContract:
    @pytest.fixture(autouse=True)
    def stored(self, put: Put) -> None:
        for key in ("slide/00000", "slide/00001", "slide2/00000", "job/plan"):
            put(key)

    def test_what_nobody_locked_can_be_deleted(self, locks: ObjectLocks) -> None:
        assert locks.find_lock("slide/", "job/", "nothing/") is None
        assert locks.find_lock() is None

    def test_the_retention_that_lasts_longest_is_found(self, locks: ObjectLocks, retain: Retain) -> None:
        retain("slide/00000", LATER)
        retain("slide/00001", FIRST)
        assert locks.find_lock("slide/") == ObjectLock(LATER)
        assert locks.find_lock("job/", "slide/00001") == ObjectLock(FIRST)
        assert locks.find_lock("slide2/", "job/") is None

    def test_a_retention_that_has_ended_locks_nothing(self, locks: ObjectLocks, retain: Retain) -> None:
        retain("slide/00000", datetime.now(UTC) - timedelta(seconds=2))
        assert locks.find_lock("slide/") is None

    def test_a_legal_hold_reaches_what_is_below_and_nothing_else(self, locks: ObjectLocks) -> None:
        for _ in range(2):
            locks.set_legal_hold("slide/", "job/", held=True)
        for prefix in ("slide/00000", "slide/00001", "job/"):
            assert locks.find_lock(prefix) == ObjectLock(None)
        assert locks.find_lock("slide2/") is None
        for _ in range(2):
            locks.set_legal_hold("slide/", held=False)
        assert locks.find_lock("slide/") is None
        assert locks.find_lock("job/") == ObjectLock(None)

    def test_a_legal_hold_outlasts_every_retention_and_leaves_it(self, locks: ObjectLocks, retain: Retain) -> None:
        retain("slide/00000", LATER)
        locks.set_legal_hold("slide/00001", held=True)
        assert locks.find_lock("slide/") == ObjectLock(None)
        locks.set_legal_hold("slide/", held=False)
        assert locks.find_lock("slide/") == ObjectLock(LATER)
