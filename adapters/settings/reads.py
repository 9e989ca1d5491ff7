"""How hard a process reads slides."""

from __future__ import annotations

from pydantic import Field

from adapters.settings.environment import Environment


class Reads(Environment):
    """Limits of all range reads of one process together, and what a request may take."""

    #: Requests of one slide at a time; 27,000 tiles/s at 20 ms with runs of 1 MiB.
    read_slide_connections: int = Field(default=16, gt=0)
    read_connections: int = Field(default=32, gt=0)  #: requests of all slides at a time
    #: Bytes asked for and not yet handed on, of all slides: all requests of two, so that the shard that is fetched
    #: ahead takes nothing from the one that is computed. Each reader may have one range beyond it, so that none waits
    #: for another.
    read_bytes_in_flight: int = Field(default=64 * 1024**2, gt=0)
    read_attempts: int = Field(default=5, gt=0)
    #: Doubled at each attempt, of which a random share is waited ("full jitter").
    read_pause_seconds: float = Field(default=0.2, gt=0)
    read_request_seconds: float = Field(default=30.0, gt=0)  #: from a request to the last byte of its answer
