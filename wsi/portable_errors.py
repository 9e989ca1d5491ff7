"""Errors that cross from one process to another."""

from __future__ import annotations

import pickle
import traceback


def make_portable(error: Exception) -> Exception:
    """Return a copy of the error that another process can raise, with its traceback as a note."""
    trace = "".join(traceback.format_exception(error))
    try:
        copy: Exception = pickle.loads(pickle.dumps(error))  # noqa: S301  # what it just wrote
    except Exception:  # noqa: BLE001  # whatever a foreign exception does when it is taken apart
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.add_note(trace)
    return copy
