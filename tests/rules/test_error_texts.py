"""No text of a Python error gets into a message for users: "'utf-8' codec can't decode byte 0x8b" helps nobody.

The tests of cases and the fuzz look at messages that appear; this one looks at the code that makes them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("tessera", "wsi", "lambdas", "inference", "gpu_worker", "adapters")
#: Where an error's text is used, and why it may be.
ALLOWED = {
    "adapters/postgres/owner/connection.py": "searched",
    "tessera/cli.py": "a UsageError's text is its message",
    "tessera/evaluation/placing.py": "a UsageError's text is its message",
    "tessera/local_run/shard_messages.py": "of one process for another, which writes it into a log",
    "tessera/local_run/inputs/tables.py": "compared with the csv module's texts, each of which has words of ours",
    "tessera/watching/watcher.py": "a UsageError's text is its message",
    "inference/decoding/child.py": "of one process for another, which writes it into a log",
    "inference/models/execution/cuda.py": "searched, and logged",
    "inference/models/execution/devices.py": "searched",
    "inference/models/execution/fusing.py": "logged",
    "inference/models/making/pickles.py": "searched",
    "inference/models/onnx/network.py": "searched",
    "wsi/slide/openslide.py": "OpenSlide's sentence on one tile, without the file's name",
    "wsi/slide/codecs/jpeg.py": "libjpeg's sentence on one tile",
    "wsi/slide/codecs/old_jpeg.py": "libjpeg's sentence on one tile",
}


def uses(source: str) -> Iterator[int]:
    """Yield the lines on which a caught error is written into a text: `{error}`, `{error!r}`, str(error), repr(error),
    error.args."""
    for handler in ast.walk(ast.parse(source)):
        if not isinstance(handler, ast.ExceptHandler) or handler.name is None:
            continue
        for node in ast.walk(handler):
            match node:
                case ast.FormattedValue(value=ast.Name(id=handler.name)):
                    yield node.value.lineno
                case ast.Call(func=ast.Name(id="str" | "repr"), args=[ast.Name(id=handler.name)]):
                    yield node.lineno
                case ast.Attribute(value=ast.Name(id=handler.name), attr="args"):
                    yield node.lineno


def files() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def test_no_message_holds_the_text_of_an_error():
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in files()
        if str(path.relative_to(ROOT)) not in ALLOWED
        for line in uses(path.read_text())
    }
    assert found == set()


def test_files_with_a_reason_still_exist():
    assert {name for name in ALLOWED if not (ROOT / name).is_file()} == set()


@pytest.mark.parametrize("use", ['f"{error}"', 'f"{error!r}"', "str(error)", "repr(error)", "error.args[0]"])
def test_every_way_to_write_an_error_is_found(use: str):
    source = f"try:\n    pass\nexcept ValueError as error:\n    raise RuntimeError({use}) from error\n"
    assert [*uses(source)] == [4]
    assert [*uses(source.replace(use, "error.sentence"))] == []
