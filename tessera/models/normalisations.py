"""Means and deviations of red, green and blue in 0..1 that most networks are trained with."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

Triple = tuple[float, float, float]

NORMALISATIONS: Final[Mapping[str, tuple[Triple, Triple]]] = MappingProxyType(
    {
        "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        "half": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
        "none": ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),  #: values in 0..1 as they are
    }
)
