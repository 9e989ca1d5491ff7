"""Retention of logs: CloudWatch accepts only certain numbers of days."""

from __future__ import annotations

from aws_cdk import aws_logs as logs

_DAYS = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
    731: logs.RetentionDays.TWO_YEARS,
    2192: logs.RetentionDays.SIX_YEARS,
}


def log_retention(days: int) -> logs.RetentionDays:
    """Return the retention of a number of days. Raises ValueError for one that is not in our table of these."""
    if days not in _DAYS:
        raise ValueError(f"Logs can be kept for {', '.join(map(str, _DAYS))} days, not for {days}.")
    return _DAYS[days]
