"""`tessera models make`: what is stated on the command line, and what it lacks."""

from __future__ import annotations

from pathlib import Path

from inference.models.making import packaging
from inference.models.making.packaging import Made, MissingFacts, Stated
from tessera.local_run.inputs import UsageError

__all__ = ["Stated", "make_package"]

#: Options by the facts that no file says, with what to write there.
_OPTIONS = {
    "mpp": "--mpp (µm per pixel that it was trained at, as 0.5)",
    "input_px": "--input-px (side of the tiles that it takes)",
    "normalise": "--normalise (imagenet, half, none, or six numbers: means and deviations of red, green and blue)",
    "classes": "--classes (names, divided by commas, in the order of its outputs)",
    "activation": "--activation (softmax, sigmoid, or none where it ends with one)",
}


def make_package(source: Path, folder: Path, stated: Stated) -> Made:
    """Make a package of published weights. Raises UsageError that lists the options which are needed, and
    ModelError."""
    try:
        return packaging.make_package(source, folder, stated)
    except MissingFacts as error:
        options = "; ".join(_OPTIONS[name] for name in error.names)
        outputs = f" The network has {error.columns} outputs." if error.columns else ""
        raise UsageError(f"No file says what these options say: {options}.{outputs}") from error
