"""Differences between two sets of scores for the same tiles, and whether a card allows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wsi.records.model_card import ModelCard, OutputKind, Tolerance


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Differences in parts of each column's range, `high - low`: for a probability, the probability itself. Of vectors,
    those of whole tiles: the length of the difference, in parts of the reference's length."""

    tiles: int
    max_difference: float
    mean_difference: float
    top1_changes: int  #: tiles whose class is another one

    def describe_excess(self, tolerance: Tolerance) -> str | None:
        """Describe what exceeds the tolerance. Return None if nothing does.

        One tile of any number may change its class: fewer than a thousand cannot tell 0.1 % from more.
        """
        found: list[str] = []
        if not self.max_difference <= tolerance.max_difference:  # not `>`, which NaN would pass
            found.append(f"differ by up to {self.max_difference:.2g} (allowed {tolerance.max_difference:.2g})")
        if not self.mean_difference <= tolerance.mean_difference:
            found.append(f"differ by {self.mean_difference:.2g} on average (allowed {tolerance.mean_difference:.2g})")
        if self.top1_changes > max(1, int(tolerance.top1_changes * self.tiles)):
            found.append(f"change the class of {self.top1_changes} (allowed {tolerance.top1_changes:.2%})")
        return f"the scores of {self.tiles} tiles {', '.join(found)}" if found else None


def compare_scores(card: ModelCard, scores: NDArray[np.float32], reference: NDArray[np.float32]) -> Difference:
    """Compare two tables [n, columns of the card] or [n, dimensions], n > 0. A tile's class is its highest column; with
    one column, it is whether that is above the middle of its range."""
    if card.embedding is not None:
        return _compare_vectors(scores, reference)
    low = np.array([column.low for column in card.columns])
    ranges = np.array([column.high for column in card.columns]) - low
    apart = np.abs(scores.astype(np.float64) - reference) / ranges
    return Difference(
        tiles=len(scores),
        max_difference=float(apart.max()),
        mean_difference=float(apart.mean()),
        top1_changes=_changes(scores, reference, low + ranges / 2) if card.output is OutputKind.CLASSIFICATION else 0,
    )


def _compare_vectors(vectors: NDArray[np.float32], reference: NDArray[np.float32]) -> Difference:
    """Compare vectors by length. A vector has no range: its values are few large and many small ones, of which the
    length is what cosines and distances are made of. A cosine alone would not see another length."""
    lengths = np.linalg.norm(reference.astype(np.float64), axis=1)
    apart = np.linalg.norm(vectors.astype(np.float64) - reference, axis=1) / np.maximum(lengths, np.finfo(float).tiny)
    return Difference(
        tiles=len(vectors), max_difference=float(apart.max()), mean_difference=float(apart.mean()), top1_changes=0
    )


def _changes(scores: NDArray[np.float32], reference: NDArray[np.float32], middle: NDArray[np.float64]) -> int:
    if scores.shape[1] == 1:
        return int(((scores > middle) != (reference > middle)).sum())
    return int((scores.argmax(axis=1) != reference.argmax(axis=1)).sum())
