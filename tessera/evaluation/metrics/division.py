"""Division and means that are undefined, NaN, where there is nothing to divide by."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Key = tuple[str, str]  #: name of a metric, and of the class that it is of; "" for all classes
Values = dict[Key, NDArray[np.float64]]


def divide(numerator: ArrayLike, denominator: ArrayLike) -> NDArray[np.float64]:
    """Return the quotients; NaN where the denominator is 0."""
    above, below = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)


def compute_defined_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over the last axis of the values that are not NaN; NaN where there is none."""
    defined = ~np.isnan(values)
    return divide(np.where(defined, values, 0).sum(-1), defined.sum(-1))
