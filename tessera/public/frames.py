"""Columns as the table that the caller's environment has: pandas, else polars, else arrays."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_LIBRARIES: Final = ("pandas", "polars")


def make_frame(columns: Mapping[str, NDArray[np.generic]]) -> Any:
    """Return a pandas DataFrame; without pandas a polars DataFrame; without either `columns` as they are."""
    for library in _LIBRARIES:
        try:
            module = import_module(library)
        except ModuleNotFoundError as error:
            if error.name != library:  # it is installed and broken
                raise
        else:
            return module.DataFrame(columns)
    return columns
