"""The brightest and the darkest channel of each pixel. numpy's own maximum over an axis of three goes pixel by pixel,
which takes ten times as long."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Samples = TypeVar("Samples", bound=np.generic)


def compute_channel_max(pixels: NDArray[Samples]) -> NDArray[Samples]:
    """Return the highest of the three channels of [..., 3], as [...]."""
    return np.maximum(np.maximum(pixels[..., 0], pixels[..., 1]), pixels[..., 2])


def compute_channel_min(pixels: NDArray[Samples]) -> NDArray[Samples]:
    """Return the lowest of the three channels of [..., 3], as [...]."""
    return np.minimum(np.minimum(pixels[..., 0], pixels[..., 1]), pixels[..., 2])
