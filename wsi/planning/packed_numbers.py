"""Arrays of whole numbers as text in JSON."""

from __future__ import annotations

import base64
import zlib

import numpy as np
from numpy.typing import NDArray


def pack_numbers(array: NDArray[np.int32]) -> str:
    """Return the numbers as text, compressed."""
    return base64.b64encode(zlib.compress(array.astype("<i4").tobytes(), 6)).decode()


def unpack_numbers(text: str) -> NDArray[np.int32]:
    """Return the numbers of a text, in one dimension."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<i4").astype(np.int32)
