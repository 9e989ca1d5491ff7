"""What the engine did for a shard and took for it, for the metrics and the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Computed:
    """What the engine did for one shard and took for it, whether it finished the shard or was drained. Seconds by a
    monotonic clock of this process, or by the device's own."""

    inferred: int  #: tiles, as the next ones without those resumed
    unreadable: int
    batches: int
    padded: int  #: rows computed for nothing
    seconds: float  #: from the first forward to the last
    stage_seconds: Mapping[str, float] = field(default_factory=dict[str, float])  #: stage -> at its own work
    waited_in: Mapping[str, float] = field(default_factory=dict[str, float])  #: stage -> for what comes to it
    waited_out: Mapping[str, float] = field(default_factory=dict[str, float])  #: stage -> for room behind it
    first_tile_seconds: float | None = None  #: from the lease to the first scores; None: no tile was inferred
