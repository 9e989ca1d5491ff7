"""Fetch: the file's tiles that the shard needs, as bytes, by the reader's coalesced range reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wsi.slide.slide import EncodedTile, SlideReader


def fetch(reader: SlideReader, level: int, needed: Sequence[int]) -> Iterator[EncodedTile]:
    """Lazy: the reader bounds its bytes in flight, and the bounded queue behind this stage holds it back."""
    yield from reader.encoded(level, needed)
