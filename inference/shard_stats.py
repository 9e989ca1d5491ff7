"""Counts and times of one shard in the engine, for the metrics and the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardStats:
    """The engine's work on one shard, whether finished or drained. Seconds are by a monotonic clock of this process, or
    by the device's own."""

    inferred: int  #: tiles, without those resumed from a checkpoint
    unreadable: int
    batches: int
    padded: int  #: rows computed for nothing
    seconds: float  #: from the first forward pass to the last
    stage_seconds: Mapping[str, float] = field(default_factory=dict[str, float])  #: stage -> seconds at its own work
    #: (stage, "in") -> seconds of waiting for input; (stage, "out") -> seconds of waiting for room behind it
    waits: Mapping[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    first_batch_seconds: float | None = None  #: from the lease to the first batch in the model
    first_tile_seconds: float | None = None  #: from the lease to the first scores; None: no tile was inferred

    def with_stage_times(self, times: StageTimes, *, committed: float) -> ShardStats:
        """Add what the stages spent during the shard, and the seconds of its commit."""
        seconds = {"fetch": times.fetch, "decode": times.decode, "batch": times.batch, **self.stage_seconds}
        return replace(
            self,
            stage_seconds={**seconds, "write": seconds.get("write", 0.0) + committed},
            waits={
                ("fetch", "out"): times.fetch_out,
                ("decode", "in"): times.decode_in,
                ("decode", "out"): times.decode_out,
                ("forward", "in"): times.forward_in,
            },
        )


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Seconds that the stages spent since the engine was made. `Outputs` has the model's own, batch by batch."""

    fetch: float = 0.0  #: waiting for the slide's answers, of all shards
    decode: float = 0.0  #: of all decoders
    batch: float = 0.0  #: CPU of the thread that assigns rows and hands out decode tasks
    fetch_out: float = 0.0  #: fetch waited for room before decode
    decode_in: float = 0.0  #: decode waited for fetched tiles
    decode_out: float = 0.0  #: decode waited for rows that the model is done with
    forward_in: float = 0.0  #: forward waited for full batches

    def __sub__(self, before: StageTimes) -> StageTimes:
        return StageTimes(*(now - then for now, then in zip(astuple(self), astuple(before), strict=True)))
