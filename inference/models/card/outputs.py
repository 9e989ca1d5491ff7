"""The parts of a card.json about the output: columns of numbers, a vector, or maps that objects are found in."""

from __future__ import annotations

import math
from typing import Annotated, Self

from pydantic import Field, model_validator

from inference.models.card.fields import CardPart, Channel, Level, Name, Side, check_ascending
from inference.models.wsinfer import MAX_SIDE
from wsi.records.outputs import CoreRule, ObjectOutput

#: Map 0 and 1 and one for each class: more classes than any network tells apart.
MOST_CLASSES = 100


class Column(CardPart):
    name: Name = Field(description="Column of tiles.csv.")
    low: Channel = Field(default=0.0, description="Value that the heatmap paints as 1.")
    high: Channel = Field(default=1.0, description="Value that the heatmap paints as 255.")
    title: Annotated[str, Field(max_length=200)] = Field(
        default="", description="For people, in place of the name, as in Tumour."
    )
    unit: Annotated[str, Field(max_length=50)] = Field(default="", description="Of the values, as in % or µm.")
    meaning: Annotated[str, Field(max_length=1000)] = Field(
        default="", description="A sentence for people who read the results."
    )
    has_range: bool = Field(
        default=True,
        description="Whether `low` and `high` are the ends of what values mean, as 0 and 1 of a probability; false "
        "where they only serve the heatmap.",
    )

    @model_validator(mode="after")
    def _rises(self) -> Self:
        check_ascending((self.low, self.high))
        return self


class ObjectsOfCard(CardPart):
    """The rule by which objects are found in the maps of a detection.

    Map 0 is the probability of an object and map 1 how deep a pixel lies in one; with several classes a map of the
    probability of each follows. Connected pixels of map 1 are an object's core, which takes the pixels of map 0 around
    it. Lengths in px are of the network's input.
    """

    classes: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MOST_CLASSES)] = Field(
        description="Names of the objects' classes; a single one has no map of its own."
    )
    inside: Level = Field(description="Least value of map 0 of an object's pixel, in parts of 255.")
    core: Level = Field(description="Least value of map 1 of a core's pixel, in parts of 255.")
    least_core: Annotated[int, Field(ge=1, le=MAX_SIDE)] = Field(description="Pixels of the smallest core.")
    reach: Annotated[int, Field(ge=0, le=MAX_SIDE)] = Field(
        description="How far from its core an object grows, in steps of one px, sideways, up or down."
    )
    largest_um: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] | None = Field(
        default=None, description="µm: the longest side of an object that is found whole. Either this or `largest_px`."
    )
    largest_px: Side | None = Field(default=None, description="The same in px.")
    margin_px: Annotated[int, Field(ge=0, le=MAX_SIDE)] = Field(
        description="From a tile's border, where maps depend on what lies outside: half of the network's receptive "
        "field. `tessera models check` measures it."
    )
    stride_px: Side = Field(
        description="Shifted by so many px, a tile gives shifted maps: the product of the network's strides. `tessera "
        "models check` measures it."
    )

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if len(set(self.classes)) != len(self.classes):
            raise ValueError("names a class twice")
        if (self.largest_um is None) == (self.largest_px is None):
            raise ValueError("must state largest_um or largest_px, and not both")
        return self

    def as_output(self, mpp: float) -> ObjectOutput:
        """Return the record. `mpp`: µm a px of the network's input."""
        largest = self.largest_px if self.largest_um is None else math.ceil(self.largest_um / mpp)
        assert largest is not None
        rule = CoreRule(inside=self.inside, core=self.core, least_core=self.least_core, reach=self.reach)
        return ObjectOutput(
            classes=self.classes, rule=rule, stride=self.stride_px, margin=self.margin_px, largest=largest
        )
