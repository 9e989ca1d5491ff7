"""A result file of a job."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultFile:
    name: str  #: "tiles.csv"
    key: str  #: in the results bucket
    size: int  #: bytes
    sha256: str  #: hex
    media_type: str
