"""The errors that a caller is likely to handle. Each message is one sentence that says what to do."""

from __future__ import annotations

from tessera.local_run.inputs import UsageError
from wsi.errors import JobFailed, SlideRejected, TesseraError, TileUnreadable

__all__ = ["JobFailed", "SlideRejected", "TesseraError", "TileUnreadable", "UsageError"]
