"""Forward: the model over batches. The one stage that a drain stops between two of its values."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator

import numpy as np

from gpu_worker.models.loaded import LoadedModel
from gpu_worker.stages.values import Batch, Outputs
from wsi.errors import ModelError
from wsi.plan import Numerics


def forward(
    model: LoadedModel, numerics: Numerics, batches: Iterable[Batch], *, stop: threading.Event
) -> Iterator[Outputs]:
    """Ends after the batch in flight once `stop` is set. Raises ModelError for a score that is not finite."""
    columns = len(model.card.columns)
    for batch in batches:
        if stop.is_set():
            return
        count = len(batch.tiles)
        began = time.perf_counter()
        scores = model.infer(batch.pixels, numerics)[:count] if count else np.empty((0, columns), np.float32)
        if not np.isfinite(scores).all():
            raise ModelError(
                "The model gave values that are not numbers: its weights do not fit its card, or it overflows."
            )
        yield Outputs(
            tiles=batch.tiles,
            scores=scores,
            quality=batch.quality,
            unreadable=batch.unreadable,
            padded=batch.padded,
            seconds=time.perf_counter() - began,
        )
