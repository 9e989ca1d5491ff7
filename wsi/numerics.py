"""The numerics version: with it equal, and model, precision, batch and threads too, result tables are byte-identical.

It goes into a job's identity and into the plan, so it must be the same in the API, which installs no codec, in the
planner and in the worker: a package that is not installed here counts as the version that the installation pins.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType

#: Of our own steps from file tile to network input (patches, resampling, normalisation, layout in memory). Raise it
#: when a change to them changes a single value.
PREPROCESSING_VERSION = 3

#: The version of the rules of `wsi.inspection.tissue`, which decide the tiles of a job whose user draws no region.
#: Raise it when a change to them, or to the overview they look at, changes a single pixel of a mask.
TISSUE_VERSION = 3

#: Of what is read in a slide's directories. Raised whenever the same file would give another index: indexes, and masks,
#: that inspection kept under other versions are not read.
PARSER_VERSION = 3

#: What touches pixels, and builds networks, as requirements pin it.
PINNED: Mapping[str, str] = MappingProxyType(
    {
        "imagecodecs": "2026.3.6",
        "numpy": "2.4.6",
        "onnxruntime": "1.32.0",
        "openslide-bin": "4.0.1.2",
        "pillow": "13.0.0",
        "simplejpeg": "1.9.0",
        "timm": "1.0.31",
        "torch": "2.14.1",
        "torchvision": "0.29.1",
    }
)


def get_installed_version(package: str, pinned: str) -> str:
    """Return the version of `package` here, or `pinned` where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return pinned


NUMERICS_VERSION: str = "+".join(
    [f"{PREPROCESSING_VERSION}", *(f"{name}-{get_installed_version(name, pinned)}" for name, pinned in PINNED.items())]
)

#: Of models whose card names none. Part of a job's identity; what a card names is part of its model's digest.
PRECISION = "fp32"

#: Of this code, as the summary names it. A Lambda's zip holds the modules without the distribution's metadata.
CODE_VERSION: str = get_installed_version("tessera-wsi", "0.1.0")
