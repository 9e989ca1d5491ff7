"""What the handlers log of an error."""

from __future__ import annotations

import io
import json

import pytest
from aws_lambda_powertools import Logger

from lambdas.logs import make_logger
from wsi.errors import SourceTruncated


@pytest.fixture
def written():
    return io.StringIO()


@pytest.fixture
def logger(written) -> Logger:
    made = make_logger("test-logs")
    made.registered_handler.setStream(written)
    return made


def fail(logger: Logger, error: Exception) -> None:
    try:
        raise error
    except type(error):
        logger.exception("failed", extra={"job_id": "7"})


def test_a_foreign_errors_text_is_not_logged(logger, written):
    error = OSError(28, "No space left", "/tmp/slide-1/Jane Doe.mrxs")
    fail(logger, error)
    line = json.loads(written.getvalue())
    assert "Jane" not in written.getvalue()
    assert (line["message"], line["job_id"], line["service"], line["exception_name"]) == (
        *("failed", "7", "test-logs"),
        "OSError",
    )
    assert json.loads(line["exception"])["frames"][-1].startswith("fail:")


def test_our_own_sentences_are_logged(logger, written):
    fail(logger, SourceTruncated("The file ends early."))
    assert json.loads(json.loads(written.getvalue())["exception"])["sentence"] == "The file ends early."
