"""Quotas: the limits of a tenant."""

from __future__ import annotations

from dataclasses import dataclass

from wsi.records.jobs import Priority


@dataclass(frozen=True, kw_only=True, slots=True)
class Quotas:
    """The limits of what a tenant may use and ask for. None: no limit."""

    tiles_a_day: int | None = None  #: of the jobs that are asked for on a day in UTC
    bytes_stored: int | None = None  #: of uploaded slides that are not deleted
    uploads_open: int | None = None  #: slides that are UPLOADING
    jobs_waiting: int | None = None  #: that no worker has begun
    top_priority: Priority | None = None  #: the most urgent that its members may ask for


NO_QUOTAS = Quotas()
