"""Compares found nuclei with annotated ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MATCH = 0.5  #: intersection over union from which on a found nucleus is an annotated one


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """Dice of pixels; F1 of nuclei at MATCH; panoptic quality (Kirillov et al., 2019)."""

    dice: float
    f1: float
    quality: float
    found: int
    annotated: int
    matched: int

    def __str__(self) -> str:
        return (
            f"Dice {self.dice:.3f}  F1 {self.f1:.3f}  PQ {self.quality:.3f}  "
            f"{self.matched} of {self.annotated} annotated and of {self.found} found"
        )


def compare(found: NDArray[np.int32], annotated: NDArray[np.int32]) -> Agreement:
    """Return how far two label images of one shape agree."""
    sizes, truths = np.bincount(found.ravel()), np.bincount(annotated.ravel())
    both = (found > 0) & (annotated > 0)
    pairs, shared = np.unique(np.stack([found[both], annotated[both]]), axis=1, return_counts=True)
    overlaps = shared / (sizes[pairs[0]] + truths[pairs[1]] - shared)
    # Above one half, no nucleus can match two.
    matched = overlaps[overlaps > MATCH]
    here, there = int((sizes[1:] > 0).sum()), int((truths[1:] > 0).sum())
    f1 = 2 * len(matched) / max(here + there, 1)
    return Agreement(
        dice=float(2 * both.sum() / max((found > 0).sum() + (annotated > 0).sum(), 1)),
        f1=f1,
        quality=float(matched.mean()) * f1 if len(matched) else 0.0,
        found=here,
        annotated=there,
        matched=len(matched),
    )
