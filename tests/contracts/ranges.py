"""What every `RangeSource` of a `SlideStore` does. A suite gives `store` and `put_object(uri, data)`."""

from __future__ import annotations

import random

import pytest

from wsi.errors import SourceChanged, SourceMissing, SourceTruncated
from wsi.slide.ranges import ByteRange

DATA = random.Random(7).randbytes(3 * 1024**2)


class RangesContract:
    @pytest.fixture
    def source(self, store, put_object):
        put_object(store.make_uri("ranges"), DATA)
        return store.open(store.make_uri("ranges"))

    def test_a_range_is_exact(self, source):
        assert source.size == len(DATA)
        assert source.read(ByteRange(10, 5010)) == DATA[10:5010]
        assert source.read(ByteRange(len(DATA) - 1, len(DATA))) == DATA[-1:]
        assert source.read(ByteRange(5, 5)) == b""

    def test_many_ranges_come_in_the_order_asked_for(self, source):
        rng = random.Random(1)
        starts = [rng.randrange(len(DATA) - 4096) for _ in range(100)]
        ranges = [ByteRange(start, start + rng.randrange(1, 4096)) for start in starts]
        assert list(source.read_many(ranges)) == [DATA[r.start : r.end] for r in ranges]

    def test_a_consumer_may_stop_early(self, source):
        answers = source.read_many([ByteRange(n, n + 100) for n in range(200)])
        assert next(answers) == DATA[:100]
        del answers
        assert source.read(ByteRange(0, 3)) == DATA[:3]

    def test_a_range_past_the_end_is_truncated(self, source):
        with pytest.raises(SourceTruncated):
            source.read(ByteRange(len(DATA) - 1, len(DATA) + 1))
        with pytest.raises(SourceTruncated):
            list(source.read_many([ByteRange(0, 1), ByteRange(0, len(DATA) + 1)]))

    def test_a_replaced_object_is_noticed(self, store, source, put_object):
        put_object(store.make_uri("ranges"), DATA[::-1])
        with pytest.raises(SourceChanged):
            source.read(ByteRange(0, 10))

    def test_opening_with_another_etag_is_refused(self, store, source):
        assert store.open(store.make_uri("ranges"), etag=source.etag).etag == source.etag
        with pytest.raises(SourceChanged):
            store.open(store.make_uri("ranges"), etag="0" * 32)

    def test_a_missing_object_is_a_typed_error(self, store, source):
        with pytest.raises(SourceMissing):
            store.open(store.make_uri("nowhere"))
        store.delete(store.make_uri("ranges"))
        with pytest.raises(SourceMissing):
            source.read(ByteRange(0, 10))
