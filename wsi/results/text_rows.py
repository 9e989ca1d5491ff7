"""Rows of text for many tiles at a time, as bytes. Every row has the same parts in the same order, so that the rows are
one array of bytes: a row of 100,000 takes a microsecond and not ten."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Texts = NDArray[np.bytes_]  #: [rows] ASCII without the character NUL, which fills up the short ones


def join_rows(parts: Sequence[bytes | Texts]) -> bytes:
    """Return the rows, one after the other. A part is a text of each row, or one that all of them have. At least one
    part has a text a row. No text may hold NUL."""
    count = next(len(part) for part in parts if not isinstance(part, bytes))
    blocks = [_to_block(part) for part in parts]
    rows = np.empty((count, sum(block.shape[1] for block in blocks)), np.uint8)
    start = 0
    for block in blocks:
        end = start + block.shape[1]
        rows[:, start:end] = block
        start = end
    return rows[rows != 0].tobytes()


def combine_texts(separator: bytes, texts: Sequence[Texts]) -> list[bytes | Texts]:
    """Return the parts of a row with the separator before each text."""
    return list(chain.from_iterable((separator, text) for text in texts))


def write_integers(values: NDArray[np.integer]) -> Texts:
    """Return the numbers, [rows], in decimal."""
    return values.astype(np.bytes_)


def write_floats(values: NDArray[np.float32]) -> list[Texts]:
    """Return the shortest texts that read back as the same float32, so that equal values give equal bytes, of each
    column of [rows, columns]."""
    # + 0.0 turns -0.0 into 0.0.
    texts: Texts = (values.T + np.float32(0.0)).astype(np.bytes_)
    return list(texts)


def _to_block(part: bytes | Texts) -> NDArray[np.uint8]:
    """Return the part as bytes, [rows or 1, length]."""
    if isinstance(part, bytes):
        return np.frombuffer(part, np.uint8)[np.newaxis]
    return np.ascontiguousarray(part).view(np.uint8).reshape(len(part), part.dtype.itemsize)
