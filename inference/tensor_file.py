"""Tensors in files of their own, as torch writes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wsi.replacing import replace_file


def save_tensor(path: Path, values: NDArray[np.float32]) -> None:
    """Save the numbers as a plain tensor, which `torch.load` reads without running any code. Never half: under another
    name first."""
    import torch

    new = path.with_name(f".{path.name}.new")
    try:
        torch.save(torch.from_numpy(values), new)
        replace_file(new, path)
    finally:
        new.unlink(missing_ok=True)
