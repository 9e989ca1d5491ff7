"""imagecodecs, loaded when the first tile needs it: JPEG tiles, which most slides have, are read without its 80 MB."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


@cache
def load_imagecodecs() -> Any:
    return import_module("imagecodecs")


@cache
def is_installed() -> bool:
    """Return whether imagecodecs is installed. It is not where only JPEG and JPEG 2000 are decoded, as on a machine
    that measures."""
    try:
        load_imagecodecs()
    except ModuleNotFoundError:
        return False
    return True
