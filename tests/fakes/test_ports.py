"""The fakes keep the contracts, and are stricter than SQS where SQS only promises."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.contracts.erasure.object_locks import ObjectLocksContract
from tests.contracts.objects import ObjectsContract
from tests.contracts.queues import QueuesContract
from tests.contracts.ranges import RangesContract
from tests.contracts.slide_archive import ArchivedReadsContract, SlideArchiveContract
from tests.contracts.slide_store import SlideAccessContract, SlideUploadsContract, list_sources
from tests.fakes.erasure.locks import MemoryLocks
from tests.fakes.objects import MemoryObjects
from tests.fakes.queues import MemoryQueues
from tests.fakes.slides import MemorySlideStore
from wsi.errors import Forbidden, LeaseLost
from wsi.records.slides import RestoreTier


class Clock:
    def __init__(self):
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        return self.now

    def pass_time(self, seconds):
        self.now += timedelta(seconds=seconds)


class TestMemoryObjects(ObjectsContract):
    @pytest.fixture
    def objects(self):
        return MemoryObjects()


class TestMemoryLocks(ObjectLocksContract):
    @pytest.fixture
    def objects(self):
        return MemoryObjects()

    @pytest.fixture
    def locks(self, objects):
        return MemoryLocks(lambda: objects.held)

    @pytest.fixture
    def put(self, objects):
        return lambda key: objects.put(key, b"")

    @pytest.fixture
    def retain(self, locks):
        return locks.retain


class _Store:
    @pytest.fixture
    def clock(self):
        return Clock()

    @pytest.fixture
    def store(self, clock):
        return MemorySlideStore("tessera-slides", ["customer-bucket", "tessera-slides"], clock, list_sources)

    @pytest.fixture
    def put_object(self, store):
        return store.put_object


class TestMemorySlideStore(_Store, SlideUploadsContract, SlideAccessContract):
    @pytest.fixture
    def put_part(self, store):
        def put(url, data):
            try:
                store.put_part(url, data)
            except Forbidden:
                return 403
            return 200

        return put

    def test_other_bytes_than_signed_are_refused(self, store, put_part):
        uri = store.make_uri("k")
        url = store.presign_part(uri, store.begin_upload(uri), n=1, size=3, sha256="0" * 64, seconds=60)
        assert put_part(url, b"abc") == 403


class TestMemoryArchive(_Store, SlideArchiveContract, ArchivedReadsContract):
    @pytest.fixture
    def is_marked(self, store):
        return lambda uri: uri in store.marked

    @pytest.fixture
    def move(self, store):
        return lambda _: store.move_archived()

    @pytest.fixture
    def bring(self, clock):
        return lambda _: clock.pass_time(RestoreTier.STANDARD.hours * 3600)

    @pytest.fixture
    def now(self, clock):
        return clock()

    def test_the_slow_way_is_slower(self, store, put_object, move, bring):
        uri = store.make_uri("slow")
        put_object(uri, b"slide")
        store.archive(uri)
        move(uri)
        for _ in range(RestoreTier.BULK.hours // RestoreTier.STANDARD.hours):
            assert not store.restore(uri, days=30, tier=RestoreTier.BULK).now
            bring(uri)
        assert store.restore(uri, days=30, tier=RestoreTier.BULK).now


class TestMemoryRanges(_Store, RangesContract):
    pass


class TestMemoryQueues(QueuesContract):
    @pytest.fixture
    def clock(self):
        return Clock()

    @pytest.fixture
    def queues(self, clock):
        return MemoryQueues(clock, {"plan": 2})

    @pytest.fixture
    def pass_time(self, clock):
        return clock.pass_time

    def test_a_receipt_is_void_after_the_next_receive(self, queues, pass_time):
        self.send(queues, a=1)
        (first,) = self.receive(queues, visibility=1)
        pass_time(2)
        (second,) = self.receive(queues)
        with pytest.raises(LeaseLost):
            queues.extend("plan", first.receipt, seconds=30)
        queues.delete("plan", first.receipt)
        queues.extend("plan", second.receipt, seconds=0)
        assert queues.depth("plan") == 1

    def test_a_receipt_is_void_once_the_message_is_visible_again(self, queues, pass_time):
        self.send(queues, a=1)
        (message,) = self.receive(queues, visibility=10)
        pass_time(10)
        with pytest.raises(LeaseLost):
            queues.extend("plan", message.receipt, seconds=30)

    def test_nothing_stays_hidden_for_more_than_twelve_hours(self, queues, pass_time):
        self.send(queues, a=1)
        (message,) = self.receive(queues, visibility=40_000)
        pass_time(30_000)
        queues.extend("plan", message.receipt, seconds=13_000)
        with pytest.raises(LeaseLost):
            queues.extend("plan", message.receipt, seconds=13_201)
