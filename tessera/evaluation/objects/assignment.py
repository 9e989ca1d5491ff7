"""The largest one-to-one matching of two sets, and of several the best one (the assignment problem)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]  #: rows of the first set, and their partners in the second


def match_pairs(rows: NDArray[np.intp], columns: NDArray[np.intp], costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the numbers of the pairs that match: as many as possible, and of equally many those of the least summed
    cost. Costs are from 0 to 1. A row and a column are in one matched pair at most."""
    alone = (np.bincount(rows)[rows] == 1) & (np.bincount(columns)[columns] == 1) if len(rows) else np.zeros(0, bool)
    open_pairs = np.flatnonzero(~alone)
    if not len(open_pairs):
        return np.flatnonzero(alone)
    left, row = np.unique(rows[open_pairs], return_inverse=True)
    right, column = np.unique(columns[open_pairs], return_inverse=True)
    # Each row may stay alone, with a column of its own that costs more than all differences between pairs together:
    # so a full matching exists, and it has as many pairs as possible.
    size = len(left)
    own = np.arange(size)
    weights = np.concatenate([1 + costs[open_pairs] / (size + 1), np.full(size, 3.0)])
    graph = coo_array(
        (weights, (np.concatenate([row, own]), np.concatenate([column, len(right) + own]))),
        shape=(size, len(right) + size),
    )
    partner = np.empty(size, np.intp)
    matched_rows, matched_columns = min_weight_full_bipartite_matching(graph.tocsr())
    partner[matched_rows] = matched_columns
    return np.sort(np.concatenate([np.flatnonzero(alone), open_pairs[partner[row] == column]]))
