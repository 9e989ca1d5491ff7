"""Structured logs: one JSON line each, with ids and the trace, never a name, a token or a URL."""

from __future__ import annotations

import json
import logging
import os
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

from wsi.error_logs import make_error_fields


class _WithoutForeignText(LambdaPowertoolsFormatter):
    """A formatter that logs what `wsi.error_logs` lets through of an error, in place of the traceback with its text."""

    def formatException(self, ei: Any) -> str:
        return json.dumps(make_error_fields(ei[1]))


def make_logger(service: str) -> Logger:
    """Return the logger of one handler. On AWS, it also handles the log lines of our own packages."""
    logger = Logger(service=service, logger_formatter=_WithoutForeignText(serialize_stacktrace=False))
    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        for package in ("wsi", "adapters"):
            ours = logging.getLogger(package)
            ours.handlers = [logger.registered_handler]
            ours.propagate = False
    return logger
