"""Structured logs: one JSON line each, with ids and the trace, never a name, a token or a URL."""

from __future__ import annotations

import logging
import os

from aws_lambda_powertools import Logger


def logger_for(service: str) -> Logger:
    """The logger of one handler. On AWS the lines of our own packages go the same way as its own."""
    logger = Logger(service=service)
    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        for package in ("wsi", "adapters"):
            ours = logging.getLogger(package)
            ours.handlers = [logger.registered_handler]
            ours.propagate = False
    return logger
