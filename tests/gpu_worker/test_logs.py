from __future__ import annotations

import json
import logging

from gpu_worker.logs import JsonLines
from wsi.errors import SourceTruncated


def line(error: Exception | None = None, **extra: object) -> dict[str, object]:
    record = logging.makeLogRecord({"msg": "shard failed", "levelname": "ERROR", **extra})
    if error is not None:
        try:
            raise error
        except Exception as caught:  # noqa: BLE001  # to give it a traceback
            record.exc_info = (type(caught), caught, caught.__traceback__)
    return json.loads(JsonLines().format(record))


def test_fields_stand_beside_the_message():
    assert line(job="7", shard=3) | {"time": ""} == {
        "time": "",
        "level": "ERROR",
        "message": "shard failed",
        "job": "7",
        "shard": 3,
    }


def test_a_foreign_exceptions_text_is_not_logged():
    text = json.dumps(line(FileNotFoundError("/slides/Jane Doe.svs")))
    assert "Jane" not in text
    assert "FileNotFoundError" in text


def test_our_own_sentences_are_logged():
    assert line(SourceTruncated("The file ends early."))["sentence"] == "The file ends early."
