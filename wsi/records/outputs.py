"""The outputs of a model for a tile besides columns of numbers: a vector, or maps that objects are found in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from wsi.records.fields import select_known_fields


class Stored(StrEnum):
    """The type of the numbers in features.h5."""

    FP32 = "fp32"
    FP16 = "fp16"


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddingOutput:
    """A vector for each tile."""

    dimensions: int  #: numbers of a vector
    pooling: str  #: how the network's tokens became one vector: "cls", "mean", "cls+mean", "global average"
    stored: Stored = Stored.FP32

    @staticmethod
    def from_json(value: dict[str, Any] | None) -> EmbeddingOutput | None:
        if value is None:
            return None
        known: dict[str, Any] = select_known_fields(EmbeddingOutput, value)
        fields: dict[str, Any] = {**known, "stored": Stored(known.get("stored", Stored.FP32))}
        return EmbeddingOutput(**fields)


@dataclass(frozen=True, kw_only=True, slots=True)
class CoreRule:
    """Thresholds in parts of 255, since probabilities are rounded to those before anything is decided."""

    inside: int  #: least probability of a pixel of an object
    core: int  #: least depth of a pixel of a core
    least_core: int  #: px
    reach: int  #: steps of one px, sideways, up or down

    @property
    def ring(self) -> int:
        """Return the px around an object that decide which px are its own.

        A px beside it may go to another object within `reach` steps, whose core shows by its nearest `least_core - 1`
        px that it is large enough: with the px beside it these are `reach + least_core`.
        """
        return self.reach + self.least_core


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectOutput:
    """Maps over a tile, and how objects come of them. Map 0 is the probability of an object, map 1 the depth within
    one; with several classes a map of the probability of each follows. Lengths are in px of the network's input."""

    classes: tuple[str, ...]  #: names of the objects' classes; one: no map of its own
    rule: CoreRule
    stride: int  #: the network's: windows begin at multiples of it
    margin: int  #: from a window's edge, where maps depend on what lies outside
    largest: int  #: the longest side of an object that one window holds whole

    @property
    def maps(self) -> int:
        """Return the number of maps."""
        return 2 + (len(self.classes) if len(self.classes) > 1 else 0)

    @property
    def halo(self) -> int:
        """Return the px around the kept box that a window has, a multiple of the stride.

        An object of the largest side, one px of which lies in the kept box, ends at most `largest` px beyond it; with
        the ring that decides its px it must lie where the maps can be trusted, which ends `margin` before the window.
        """
        return -(-(self.margin + self.rule.ring + self.largest) // self.stride) * self.stride

    @staticmethod
    def from_json(value: dict[str, Any] | None) -> ObjectOutput | None:
        if value is None:
            return None
        known: dict[str, Any] = select_known_fields(ObjectOutput, value)
        rule = CoreRule(**select_known_fields(CoreRule, known["rule"]))
        fields: dict[str, Any] = {**known, "classes": tuple(known["classes"]), "rule": rule}
        return ObjectOutput(**fields)
