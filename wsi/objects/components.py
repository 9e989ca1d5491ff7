"""Finds pixels that share sides."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage  # pyright: ignore[reportMissingTypeStubs]

from wsi.objects.table import Labels

_SCIPY = cast("Any", ndimage)


def find_components(mask: NDArray[np.bool_]) -> tuple[Labels, int]:
    """Return [height, width] with 1..n for the pixels that hang together by their sides, and n."""
    return _SCIPY.label(mask)


def find_boxes(labels: Labels) -> list[tuple[slice, slice]]:
    """Return the rows and columns of each label from 1 on."""
    return _SCIPY.find_objects(labels)
