"""What every `SlideStore` does about the archive. A suite gives `store` (bucket as in `slide_store`), `put_object`,
`is_marked(uri)`, `move(uri)`, which does as the bucket's lifecycle does with a marked object, and `bring(uri)`, which
returns when the copy that was asked for is there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from wsi.errors import Forbidden, SourceMissing
from wsi.ports.objects import Readable
from wsi.records.slides import RestoreTier
from wsi.slide.ranges import ByteRange


def restore(store, uri, *, days=30):
    return store.restore(uri, days=days, tier=RestoreTier.STANDARD)


class SlideArchiveContract:
    @pytest.fixture
    def uri(self, store, put_object):
        put_object(store.make_uri("t/slides/s/00000"), b"slide")
        return store.make_uri("t/slides/s/00000")

    @pytest.fixture
    def now(self):
        return datetime.now(UTC)

    def test_an_archived_file_is_marked_until_it_is_wanted_back(self, store, uri, is_marked):
        assert not is_marked(uri)
        for _ in range(2):
            store.archive(uri)
            assert is_marked(uri)
        for _ in range(2):
            restore(store, uri)
            assert not is_marked(uri)

    def test_what_has_not_moved_is_readable_at_once_and_for_good(self, store, uri):
        store.archive(uri)
        assert restore(store, uri) == Readable(now=True, until=None)
        assert store.head(uri).size == 5

    def test_what_has_moved_is_readable_once_its_copy_has_come(self, store, uri, move, bring, now):
        store.archive(uri)
        move(uri)
        assert store.head(uri).size == 5
        assert restore(store, uri) == Readable(now=False)
        bring(uri)
        back = restore(store, uri)
        assert back.now
        assert back.until is not None
        assert timedelta(days=29) < back.until - now < timedelta(days=33)

    def test_asking_again_does_not_make_a_copy_last_longer(self, store, uri, move, bring):
        store.archive(uri)
        move(uri)
        restore(store, uri)
        bring(uri)
        assert restore(store, uri) == restore(store, uri)

    def test_a_copy_that_goes_soon_is_asked_for_again(self, store, uri, move, bring, now):
        store.archive(uri)
        move(uri)
        restore(store, uri, days=3)
        bring(uri)
        assert not restore(store, uri).now
        back = restore(store, uri)
        assert back.until is not None
        assert back.until - now > timedelta(days=29)

    def test_files_of_others_are_neither_archived_nor_restored(self, store, put_object):
        uri = "s3://customer-bucket/folder/slide.svs"
        put_object(uri, b"theirs")
        with pytest.raises(Forbidden):
            store.archive(uri)
        with pytest.raises(Forbidden):
            restore(store, uri)

    def test_a_file_that_is_gone_is_not_archived(self, store):
        with pytest.raises(SourceMissing):
            store.archive(store.make_uri("gone"))


class ArchivedReadsContract:
    """Apart, since moto has no address for range reads, and breaks on the tags of an object that is gone."""

    def test_a_file_that_is_gone_is_not_restored(self, store):
        with pytest.raises(SourceMissing):
            restore(store, store.make_uri("gone"))

    def test_what_has_moved_is_read_through_its_copy_alone(self, store, put_object, move, bring):
        uri = store.make_uri("t/slides/s/00000")
        put_object(uri, b"slide")
        store.archive(uri)
        assert store.open(uri).read(ByteRange(0, 5)) == b"slide"
        move(uri)
        with pytest.raises(SourceMissing):
            store.open(uri).read(ByteRange(0, 5))
        restore(store, uri)
        bring(uri)
        assert store.open(uri).read(ByteRange(0, 5)) == b"slide"
