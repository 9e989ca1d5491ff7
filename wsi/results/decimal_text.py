"""Texts of many decimal numbers at once, a tenth of the time of numpy's own."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wsi.results.text_rows import Texts

_DIGITS: Final = 4  #: that one look-up writes


def write_decimals(numbers: NDArray[np.integer], places: int) -> Texts:
    """Return the texts of `numbers / 10**places`, [n]: exact, shortest, without an exponent, and "0" for zero. There
    are at most four places."""
    assert 0 <= places <= _DIGITS
    sizes: NDArray[np.integer] = np.abs(numbers.astype(np.int64))
    if sizes.max(initial=0) < 2**32:
        sizes = sizes.astype(np.uint32)  # which divides in half the time
    whole, part = sizes // 10**places, sizes % 10**places
    sign = np.where(numbers < 0, np.uint8(ord("-")), np.uint8(0))[:, np.newaxis]
    blocks = [sign, *_write_whole(whole)]
    if places:
        blocks.append(_make_fractions(places)[part])
    rows = np.concatenate(blocks, axis=1)
    return rows.view(f"S{rows.shape[1]}").ravel()


def scale_decimals(values: NDArray[np.floating], places: int) -> NDArray[np.int64]:
    """Return the values in units of the last of these places, halves to even."""
    return np.rint(values.astype(np.float64) * 10**places).astype(np.int64)


def _write_whole(numbers: NDArray[np.integer]) -> list[NDArray[np.uint8]]:
    """Return blocks of digits, [n, 4] each, with NUL in place of leading zeros."""
    padded, stripped = _make_digits()
    low = numbers % 10**_DIGITS
    if not (numbers >= 10**_DIGITS).any():
        return [stripped[low]]
    high = numbers // 10**_DIGITS
    has_high = (high > 0)[:, np.newaxis]
    blocks = _write_whole(high)
    blocks[-1] = blocks[-1] * has_high  # its only digit there is a leading zero
    return [*blocks, np.where(has_high, padded[low], stripped[low])]


@cache
def _make_digits() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the digits of 0 to 9999, [10000, 4], with leading zeros and with NUL in their place."""
    numbers = np.arange(10**_DIGITS)[:, np.newaxis]
    powers = 10 ** np.arange(_DIGITS - 1, -1, -1)
    padded = (numbers // powers % 10 + ord("0")).astype(np.uint8)
    return padded, np.where((numbers >= powers) | (powers == 1), padded, np.uint8(0))


@cache
def _make_fractions(places: int) -> NDArray[np.uint8]:
    """Return the point and the digits after it, [10**places, 1 + places], with NUL in place of trailing zeros."""
    numbers = np.arange(int(10**places))[:, np.newaxis]
    powers = 10 ** np.arange(places - 1, -1, -1)
    digits = np.where(numbers % (10 * powers), numbers // powers % 10 + ord("0"), 0)
    point = np.where(numbers, ord("."), 0)
    return np.concatenate([point, digits], axis=1).astype(np.uint8)
