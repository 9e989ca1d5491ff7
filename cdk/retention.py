"""How long logs are kept: CloudWatch knows certain numbers of days only."""

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
    """Raises ValueError for a number that CloudWatch does not know."""
    if days not in _DAYS:
        raise ValueError(f"Logs can be kept for {', '.join(map(str, _DAYS))} days, not for {days}.")
    return _DAYS[days]
