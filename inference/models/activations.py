"""Activations in numpy, for outputs that are on the CPU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wsi.records.model_card import Activation


def apply_activation(logits: NDArray[np.float32], activation: Activation) -> NDArray[np.float32]:
    """Apply the activation to logits [batch, columns], without an overflow for any finite logit."""
    if activation is Activation.SOFTMAX:
        grown = np.exp(logits - logits.max(axis=1, keepdims=True))
        return (grown / grown.sum(axis=1, keepdims=True)).astype(np.float32)
    if activation is Activation.SIGMOID:
        shrunk = np.exp(-np.abs(logits))
        return np.where(logits >= 0, 1 / (1 + shrunk), shrunk / (1 + shrunk)).astype(np.float32)
    return logits
