"""The page that every alarm leads to."""

from __future__ import annotations

RUNBOOK = "docs/how-to/runbook.md"


def describe_alarm(why: str, anchor: str) -> str:
    """Return the alarm's description, which an operator reads first."""
    return f"{why} What to do: {RUNBOOK}#{anchor}"
