"""One JSON object a line. Of an error what `wsi.error_logs` lets through."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from wsi.error_logs import error_fields

#: What every LogRecord has; the rest came in through `extra`.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname,
            "message": record.getMessage(),
        }
        line.update({name: value for name, value in vars(record).items() if name not in _OWN})
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            line.update(error_fields(error))
        return json.dumps(line, default=str)


def log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # botocore and its pool name hosts and retries at INFO and below.
    for name in ("botocore", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)
