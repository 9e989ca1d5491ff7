"""The limits of a tenant: how much it may use, and how long it keeps what."""

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
    dollars_a_month: float | None = None  #: its budget: of workers' time in a month of UTC, at the installation's price
    stops_at_budget: bool | None = None  #: refuse new jobs once the month's budget is used; else only tell its admins


NO_QUOTAS = Quotas()


@dataclass(frozen=True, kw_only=True, slots=True)
class Retention:
    """Days after which the sweep deletes for a tenant. None: it does not."""

    slide_days: int | None = None  #: from when a slide was created; its jobs go with it
    result_days: int | None = None  #: from when a job ended
    key_days: int | None = None  #: of an Idempotency-Key, from when it came


@dataclass(frozen=True, kw_only=True, slots=True)
class Expired:
    """The numbers of things that one run of the sweep deleted for retention."""

    slides_expired: int = 0
    jobs_expired: int = 0
    keys_expired: int = 0
