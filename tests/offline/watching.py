"""A plugin of pytest: each test that tried to reach beyond the loopback fails, whoever swallowed the error."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.offline.children.sitecustomize import LOG
from tests.offline.namespace import enter_namespace

CHILDREN = Path(__file__).parent / "children"


def pytest_configure() -> None:
    """Enter a namespace before xdist starts its processes; where there is none, Python's children refuse by their
    path. Each process of xdist has a log of its own."""
    if not enter_namespace():
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(CHILDREN), os.environ.get("PYTHONPATH")]))
    handle, os.environ[LOG] = tempfile.mkstemp(prefix="off-loopback-")
    os.close(handle)


def pytest_unconfigure() -> None:
    Path(os.environ.pop(LOG)).unlink(missing_ok=True)


@pytest.fixture(autouse=True)
def _stays_on_this_machine() -> Iterator[None]:
    log = Path(os.environ[LOG])
    before = log.stat().st_size
    yield
    with log.open(encoding="utf-8") as file:
        file.seek(before)
        if tried := file.read():
            pytest.fail(f"This test, or one of its processes, reached beyond the loopback:\n{tried}", pytrace=False)
