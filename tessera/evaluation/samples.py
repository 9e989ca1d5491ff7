"""Scored samples of which the true class is known: tiles of a slide, or the slide itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredClasses:
    """Classes that a model's columns tell apart.

    With several columns each is a class, and the highest score wins. One column is that of the last of two classes,
    predicted from `threshold` on.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    threshold: float  #: of one column

    @property
    def is_single(self) -> bool:
        return len(self.columns) == 1

    def choose_classes(self, scores: NDArray[np.float32]) -> NDArray[np.intp]:
        """Return the predicted class of each row of [n, columns]. The first of equal columns wins."""
        if self.is_single:
            return (scores[:, 0] >= self.threshold).astype(np.intp)
        return scores.argmax(axis=1).astype(np.intp)

    def list_scored(self) -> tuple[tuple[int, int], ...]:
        """Return (class, its column) of each class that has a score."""
        return ((1, 0),) if self.is_single else tuple((number, number) for number in range(len(self.names)))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ClassSamples:
    """Samples of one slide."""

    scores: NDArray[np.float32]  #: [n, columns]
    truth: NDArray[np.intp]  #: [n] index into the names of the classes
    areas: NDArray[np.float64] | None = None  #: [n] um²; None: a sample has no area

    def __len__(self) -> int:
        return len(self.truth)
