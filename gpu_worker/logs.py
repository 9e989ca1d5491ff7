"""Logs one JSON object a line; of an error only what `wsi.error_logs` allows."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from wsi.error_logs import make_error_fields

#: Attributes of every LogRecord; the others come from `extra`.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname,
            "message": record.getMessage(),
        }
        line.update({name: value for name, value in vars(record).items() if name not in _STANDARD})
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            line.update(make_error_fields(error))
        return json.dumps(line, default=str)


def log_to_stderr() -> None:
    """Log to stderr from now on, at INFO."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # botocore and its connection pool log hosts and retries at INFO and below.
    for name in ("botocore", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)
