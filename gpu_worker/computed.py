"""What the engine did for a shard and took for it, for the metrics and the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace


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
    #: (stage, "in") -> for what comes to it; (stage, "out") -> for room behind it
    waits: Mapping[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    first_tile_seconds: float | None = None  #: from the lease to the first scores; None: no tile was inferred

    def told(self, spent: Spent, *, committed: float) -> Computed:
        """With what the stages spent in the shard's time, and the seconds of its commit."""
        seconds = {"fetch": spent.fetch, "decode": spent.decode, "batch": spent.batch, **self.stage_seconds}
        return replace(
            self,
            stage_seconds={**seconds, "write": seconds.get("write", 0.0) + committed},
            waits={
                ("fetch", "out"): spent.fetch_out,
                ("decode", "in"): spent.decode_in,
                ("decode", "out"): spent.decode_out,
                ("forward", "in"): spent.forward_in,
            },
        )


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of the stages since the engine began. What the model takes every batch says itself (`Outputs`)."""

    fetch: float = 0.0  #: from asking the slide to its answer, of all works
    decode: float = 0.0  #: of all decoders
    batch: float = 0.0  #: CPU of the thread that gives rows and jobs out
    fetch_out: float = 0.0  #: fetch waited for room before decode
    decode_in: float = 0.0  #: decode, for fetched tiles
    decode_out: float = 0.0  #: decode, for rows that the model is done with
    forward_in: float = 0.0  #: forward, for full batches

    def __sub__(self, before: Spent) -> Spent:
        return Spent(*(now - then for now, then in zip(astuple(self), astuple(before), strict=True)))
