"""Quality: how the tiles of a batch look. On the batch stage's thread, which waits for the model most of the time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpu_worker.stages.values import Batch
from wsi.quality import measure


def with_quality(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Padding is not looked at."""
    for batch in batches:
        yield replace(batch, quality=measure(batch.pixels[: len(batch.tiles)]))
