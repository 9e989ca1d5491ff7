"""Exit statuses of child processes in words."""

from __future__ import annotations

import signal


def describe_exit(status: int) -> str:
    """Return "with status 1" or "by SIGKILL"."""
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
