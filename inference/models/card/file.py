"""`card.json`: what a package says of its model. `make reference` writes docs/card.schema.json from the classes here.

A package of safetensors or ONNX weights has a whole card. Beside a WSInfer config a card is optional and adds what the
config lacks. Keys that are not known are refused: one that we do not carry out would change the numbers without a word.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError, model_validator

from inference.models.card.fields import CardPart, Channel, Mpp, Share, Side, Spread, Text, check_ascending
from inference.models.card.json_object import parse_object
from inference.models.card.outputs import Column, ObjectsOfCard
from inference.models.card.stains import Reference
from inference.models.card.words import describe_faults
from wsi.errors import ModelError
from wsi.models.package_files import CARD
from wsi.records.model_card import (
    VECTOR_TOLERANCE,
    Activation,
    Boxes,
    Channels,
    EdgeFill,
    OutputKind,
    ReadLevel,
    Resize,
    Tolerance,
)
from wsi.records.outputs import Stored

#: A card is a page of text; more is something else.
MAX_BYTES = 1024 * 1024

LOOSEST = Tolerance()
#: The fields that each output must state, and those that it may, of the fields that are not for all of them.
_OF_COLUMNS = (("columns", "activation"), ("golden",))
FIELDS_OF: Mapping[OutputKind, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        OutputKind.CLASSIFICATION: _OF_COLUMNS,
        OutputKind.REGRESSION: _OF_COLUMNS,
        OutputKind.EMBEDDING: (("dimensions", "pooling"), ("features", "activation", "golden")),
        OutputKind.DETECTION: (("objects",), ("activation",)),
    }
)
ACTIVATIONS_OF: Mapping[OutputKind, tuple[Activation | None, ...]] = MappingProxyType(
    {
        OutputKind.CLASSIFICATION: tuple(Activation),
        OutputKind.REGRESSION: tuple(Activation),
        OutputKind.EMBEDDING: (None, Activation.NONE),
        OutputKind.DETECTION: (None, Activation.SIGMOID, Activation.NONE),
    }
)

Kind = TypeVar("Kind", bound=BaseModel)


class ToleranceOfScores(CardPart):
    """The allowed difference of scores from those in fp32, in parts of a column's range; of vectors, in parts of their
    length. Defaults of an embedding: 0.02 and 0.01."""

    max_difference: Share | None = Field(default=None, description=f"{LOOSEST.max_difference} unless said.")
    mean_difference: Share | None = Field(default=None, description=f"{LOOSEST.mean_difference} unless said.")
    top1_changes: Share | None = Field(
        default=None, description=f"Share of tiles whose class changes; {LOOSEST.top1_changes} unless said."
    )
    reason: str = Field(default="", max_length=1000, description="Why it is looser than the defaults.")

    def complete(self, default: Tolerance) -> Tolerance:
        """Return the tolerance with the defaults where nothing is stated. Raises ValueError if it is looser than these
        without a reason."""
        stated = {name: value for name, value in self.model_dump().items() if value is not None}
        looser = [name for name in stated if name != "reason" and stated[name] > getattr(default, name)]
        if looser and not self.reason.strip():
            raise ValueError(f"tolerance.{', '.join(looser)} is looser than the default: write the reason")
        return replace(default, **stated)


class Additions(CardPart):
    """Fields that any card may state."""

    spec_version: Literal["1.0"]
    description: Text | None = None
    edge_fill: EdgeFill | None = Field(
        default=None, description="What the model sees outside the slide; white unless said, black for WSInfer."
    )
    allow_upsampling: bool | None = Field(
        default=None, description="Take slides coarser than `mpp`; of a WSInfer package this is the default."
    )
    mpp_range: Annotated[tuple[Mpp, Mpp], AfterValidator(check_ascending)] | None = Field(
        default=None,
        description="µm per pixel of the slides that the model was found to hold for: others are warned of, and "
        "slides above it are enlarged only for a job that asks for it.",
    )
    read_level: ReadLevel | None = Field(
        default=None,
        description="suitable: the coarsest level of the slide that is fine enough; finest: always level 0.",
    )
    boxes: Boxes | None = Field(
        default=None,
        description="whole, unless said: a tile's box is rounded to whole pixels of the level that is read; resampled: "
        "it keeps its place and size to 1/1024 px, and the resize samples it there, in whole grey values.",
    )
    stain_normalisation: Reference | None = Field(
        default=None,
        description="Of each tile by its own pixels, at `input_px`, before mean and std, towards the reference stated.",
    )
    needs_stains: bool | None = Field(
        default=None,
        description="The plan pins the slide's own stains, which summary.json then lists: as the built-in network "
        "epithelium needs them. A package's network is given colours all the same.",
    )
    batch: Annotated[int, Field(ge=1, le=4096)] = Field(default=32, description="Tiles of the one batch shape.")
    precision: Literal["fp32", "fp16", "bf16"] = Field(default="fp32", description="Of the network, on every device.")
    tolerance: ToleranceOfScores = ToleranceOfScores()
    golden: Literal["golden.npz"] | None = Field(
        default=None,
        description="Tiles and their scores in fp32, `tiles` [n, height, width, 3] uint8 and `scores` [n, columns] "
        "float32: a worker takes no job before it reproduced them. Not of a detection.",
    )
    tiles_per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="Of the slowest device that the model is to run on: sizes shards and estimates."
    )
    stain: Text | None = None
    organ: Text | None = None
    licence: Text | None = None

    @property
    def default_tolerance(self) -> Tolerance:
        return LOOSEST

    @property
    def whole_tolerance(self) -> Tolerance:
        return self.tolerance.complete(self.default_tolerance)

    @model_validator(mode="after")
    def _is_founded(self) -> Self:
        self.tolerance.complete(self.default_tolerance)
        return self


class WsinferAdditions(Additions):
    """Fields of a card next to a WSInfer config."""

    activation: Activation | None = Field(
        default=None,
        description="Softmax for several classes and sigmoid for one unless said, as WSInfer does; `none` for a "
        "network that ends with it.",
    )


class Card(Additions):
    """The card of a package without a WSInfer config."""

    kind: Literal["safetensors", "onnx"]
    architecture: Annotated[str, Field(pattern=r"^(timm|torchvision|tessera)/[A-Za-z0-9_.]+$")] | None = Field(
        default=None, description="Of safetensors weights: library and name, as in timm/resnet18 or tessera/unet."
    )
    architecture_arguments: dict[str, bool | int | float | str | list[int]] = Field(
        default_factory=dict, description="Of the architecture; which are allowed: docs/reference/models.md."
    )
    output: OutputKind
    activation: Activation | None = Field(
        default=None,
        description="Must be stated for a classification or regression. A detection has a sigmoid unless said, of each "
        "map; an embedding has none.",
    )
    columns: tuple[Column, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=10_000,
        description="Of a classification or regression, and of no other: what the network gives.",
    )
    dimensions: Annotated[int, Field(ge=1, le=65_536)] | None = Field(
        default=None, description="Of an embedding: numbers of a vector."
    )
    pooling: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None,
        description="Of an embedding: how tokens or pixels became one vector, as in cls, cls+mean or global average. "
        "It is written next to the vectors.",
    )
    features: Stored | None = Field(
        default=None, description="Of an embedding: type of the stored numbers; fp32 unless said."
    )
    objects: ObjectsOfCard | None = Field(
        default=None, description="Of a detection: how objects are found in its maps."
    )
    tile_px: Side = Field(description="Side of the model's tile at `mpp`.")
    mpp: Mpp = Field(description="µm per pixel that the model was trained at.")
    input_px: Side | None = Field(default=None, description="Side that the network takes; `tile_px` unless said.")
    resize: Resize = Field(
        default=Resize.EXACT,
        description="How boxes become `input_px`: exact keeps fractions of grey values, pillow-bilinear and "
        "pillow-bicubic round as Pillow does with 8-bit pictures, for networks whose training did.",
    )
    mean: tuple[Channel, Channel, Channel] = Field(
        default=(0.0, 0.0, 0.0), description="Of colours in 0..1, in the order of `channels`, subtracted."
    )
    std: tuple[Spread, Spread, Spread] = Field(
        default=(1.0, 1.0, 1.0), description="Of colours in 0..1, in the order of `channels`, divided by."
    )
    channels: Channels = Field(default=Channels.RGB, description="BGR for networks whose pictures OpenCV read.")

    @property
    def default_tolerance(self) -> Tolerance:
        return VECTOR_TOLERANCE if self.output is OutputKind.EMBEDDING else LOOSEST

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        names = [column.name for column in self.columns or ()]
        if len(set(names)) != len(names):
            raise ValueError("columns names a column twice")
        if (self.kind == "safetensors") != (self.architecture is not None):
            raise ValueError("architecture belongs to safetensors weights, and to no others")
        needed, allowed = FIELDS_OF[self.output]
        if missing := [name for name in needed if getattr(self, name) is None]:
            raise ValueError(f"{missing[0]} is missing, which belongs to output {self.output}")
        others = {name for fields in FIELDS_OF.values() for name in fields[0] + fields[1]} - {*needed, *allowed}
        if extra := sorted(name for name in others if getattr(self, name) is not None):
            raise ValueError(f"{extra[0]} does not belong to output {self.output}")
        if self.activation not in ACTIVATIONS_OF[self.output]:
            known = " or ".join(each.value for each in ACTIVATIONS_OF[self.output] if each is not None)
            raise ValueError(f"activation of output {self.output} must be {known}")
        return self


def read_additions(folder: Path) -> WsinferAdditions:
    """Read the card next to a WSInfer config. Raises ModelError."""
    value = read_fields(folder)
    repeated = sorted(value.keys() & (Card.model_fields.keys() - WsinferAdditions.model_fields.keys()))
    if repeated:
        raise ModelError(f"{CARD} says {', '.join(repeated)}, which beside a WSInfer config follows from config.json.")
    return _validate(WsinferAdditions, value)


def read_card(folder: Path) -> Card:
    """Read the card of a package without a WSInfer config. Raises ModelError."""
    return _validate(Card, read_fields(folder))


def make_schema() -> dict[str, Any]:
    """Return the JSON Schema of a card.json: a whole one, or one next to a WSInfer config."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "card.json of a model package",
        **TypeAdapter(Card | WsinferAdditions).json_schema(),
    }


def read_fields(folder: Path) -> dict[str, Any]:
    """Return the fields of the card.json, unchecked. Raises ModelError if the file is missing or no JSON object."""
    path = folder / CARD
    if not path.is_file():
        raise ModelError(f"The model package has no file {CARD}.")
    if path.stat().st_size > MAX_BYTES:
        raise ModelError(f"{CARD} is larger than {MAX_BYTES} bytes: it is no card.")
    return parse_object(path.read_bytes(), CARD)


def _validate(kind: type[Kind], value: dict[str, Any]) -> Kind:
    try:
        # As JSON: lists stand for tuples there, and nothing else is converted.
        return kind.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise ModelError(f"{CARD} is not a card: {describe_faults(error, kind)}.") from error
