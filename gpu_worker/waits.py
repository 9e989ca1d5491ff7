"""Seconds that a worker waits."""

from __future__ import annotations

from dataclasses import dataclass

from inference.stages.prefetch import JOIN_SECONDS


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerWaits:
    """Seconds that a worker waits for others. Tests shorten them."""

    poll: float = 1.0  #: on the last queue of a poll; short, since a message in the other queues waits as long
    retry: float = 5.0  #: before the next request to a queue, the ledger or S3 that did not answer
    stages: float = JOIN_SECONDS  #: for the engine's threads to end
    #: for a model to be loaded, checked and measured: the largest published encoder takes below five minutes on the
    #: slowest GPU
    trial: float = 30 * 60.0
    trial_rate: float = 5.0  #: while a model's tiles per second are measured
