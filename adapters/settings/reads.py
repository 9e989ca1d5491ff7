"""Limits on how much a process reads at a time."""

from __future__ import annotations

from pydantic import Field

from adapters.settings.environment import Environment


class ReadLimits(Environment):
    """Limits of all range reads of one process together, and what a request may take."""

    #: Requests of one slide at a time. 16 give 27,000 tiles/s at 20 ms with runs of 1 MiB.
    read_slide_connections: int = Field(default=16, gt=0)
    read_connections: int = Field(default=32, gt=0)  #: Requests of all slides at a time.
    #: Bytes of all slides that were requested and are not decoded yet. The default holds all requests of two slides, so
    #: that prefetching the next shard takes nothing from the running one. Each reader may exceed it by one range.
    read_bytes_in_flight: int = Field(default=64 * 1024**2, gt=0)
    read_attempts: int = Field(default=5, gt=0)  #: Attempts of a read.
    #: Longest pause before the second attempt, doubled at each further one; a random share of it is waited.
    read_pause_seconds: float = Field(default=0.2, gt=0)
    read_request_seconds: float = Field(default=30.0, gt=0)  #: Seconds from a request to the last byte of its answer.
