"""`card.json`: what a package says of its model. docs/card.schema.json is made from the classes here.

A package of safetensors or ONNX weights has a whole card. Beside a WSInfer config a card is optional and adds what the
config lacks. Keys that are not known are refused: one that we do not carry out would change the numbers without a word.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from gpu_worker.models.card_words import faults
from gpu_worker.models.json_object import parse_object
from gpu_worker.models.wsinfer import COARSEST, FINEST, LARGEST, MAX_SIDE
from wsi.errors import ModelError
from wsi.model_card import Activation, Channels, EdgeFill, OutputKind, ReadLevel, Resize, Tolerance
from wsi.texts import holds_control

CARD = "card.json"
#: A card is a page of text; more is something else.
MAX_BYTES = 1024 * 1024

LOOSEST = Tolerance()

Kind = TypeVar("Kind", bound=BaseModel)


def _printable(text: str) -> str:
    if holds_control(text):  # tables and the heatmap's XML cannot hold them
        raise ValueError("must hold no control characters")
    return text


def _ascending(pair: tuple[float, float]) -> tuple[float, float]:
    if pair[0] >= pair[1]:
        raise ValueError("must be the lower, then the higher value")
    return pair


Text = Annotated[str, Field(min_length=1, max_length=1000)]
Side = Annotated[int, Field(ge=1, le=MAX_SIDE)]
Mpp = Annotated[float, Field(ge=FINEST, le=COARSEST, allow_inf_nan=False)]
Channel = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
Spread = Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Column(_Part):
    name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)] = Field(
        description="Column of tiles.csv."
    )
    low: Channel = Field(default=0.0, description="Value that the heatmap paints as 1.")
    high: Channel = Field(default=1.0, description="Value that the heatmap paints as 255.")

    @model_validator(mode="after")
    def _rises(self) -> Self:
        _ascending((self.low, self.high))
        return self


class ToleranceOfScores(_Part):
    """How far scores may lie from those in fp32, in parts of a column's range."""

    max_difference: Share = LOOSEST.max_difference
    mean_difference: Share = LOOSEST.mean_difference
    top1_changes: Share = Field(default=LOOSEST.top1_changes, description="Share of tiles whose class changes.")
    reason: str = Field(default="", max_length=1000, description="Why it is looser than the defaults.")

    @model_validator(mode="after")
    def _is_founded(self) -> Self:
        names = ("max_difference", "mean_difference", "top1_changes")
        looser = [name for name in names if getattr(self, name) > getattr(LOOSEST, name)]
        if looser and not self.reason.strip():
            raise ValueError(f"{', '.join(looser)} is looser than the default: write the reason")
        return self


class Additions(_Part):
    """What any card may say."""

    spec_version: Literal["1.0"]
    description: Text | None = None
    edge_fill: EdgeFill | None = Field(
        default=None, description="What the model sees outside the slide; white unless said, black for WSInfer."
    )
    allow_upsampling: bool | None = Field(
        default=None, description="Take slides coarser than `mpp`; of a WSInfer package this is the default."
    )
    mpp_range: Annotated[tuple[Mpp, Mpp], AfterValidator(_ascending)] | None = Field(
        default=None,
        description="µm per pixel of the slides that the model was found to hold for: others are warned of, and "
        "slides above it are enlarged only for a job that asks for it.",
    )
    read_level: ReadLevel | None = Field(
        default=None,
        description="suitable: the coarsest level of the slide that is fine enough; finest: always level 0.",
    )
    batch: Annotated[int, Field(ge=1, le=4096)] = Field(default=32, description="Tiles of the one batch shape.")
    precision: Literal["fp32", "fp16", "bf16"] = Field(default="fp32", description="Of the network, on every device.")
    tolerance: ToleranceOfScores = ToleranceOfScores()
    golden: Literal["golden.npz"] | None = Field(
        default=None,
        description="Tiles and their scores in fp32, `tiles` [n, height, width, 3] uint8 and `scores` [n, columns] "
        "float32: a worker takes no job before it reproduced them.",
    )
    tiles_per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="Of the slowest device that the model is to run on: sizes shards and estimates."
    )
    stain: Text | None = None
    organ: Text | None = None
    licence: Text | None = None


class WsinferAdditions(Additions):
    """What a card beside a WSInfer config may say."""

    activation: Activation | None = Field(
        default=None,
        description="Softmax for several classes and sigmoid for one unless said, as WSInfer does; `none` for a "
        "network that ends with it.",
    )


class Card(Additions):
    """Of a package without a WSInfer config."""

    kind: Literal["safetensors", "onnx"]
    architecture: Annotated[str, Field(pattern=r"^(timm|torchvision)/[A-Za-z0-9_.]+$")] | None = Field(
        default=None, description="Of safetensors weights: library and name, as in timm/resnet18."
    )
    architecture_arguments: dict[str, bool | int | float | str | list[int]] = Field(
        default_factory=dict, description="Of the architecture; which are allowed: docs/models.md."
    )
    output: OutputKind
    activation: Activation
    columns: Annotated[tuple[Column, ...], Field(min_length=1, max_length=10_000)]
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

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise ValueError("columns names a column twice")
        if (self.kind == "safetensors") != (self.architecture is not None):
            raise ValueError("architecture belongs to safetensors weights, and to no others")
        return self


def read_additions(folder: Path) -> WsinferAdditions:
    """The card beside a WSInfer config. Raises ModelError."""
    value = stated(folder)
    repeated = sorted(value.keys() & (Card.model_fields.keys() - WsinferAdditions.model_fields.keys()))
    if repeated:
        raise ModelError(f"{CARD} says {', '.join(repeated)}, which beside a WSInfer config follows from config.json.")
    return _checked(WsinferAdditions, value)


def read_card(folder: Path) -> Card:
    """The card of a package without a WSInfer config. Raises ModelError."""
    return _checked(Card, stated(folder))


def schema() -> dict[str, Any]:
    """JSON Schema of a card.json: whole, or beside a WSInfer config."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "card.json of a model package",
        **TypeAdapter(Card | WsinferAdditions).json_schema(),
    }


def stated(folder: Path) -> dict[str, Any]:
    """Return what the card.json states, unchecked. Raises ModelError where it is not there or no JSON object."""
    path = folder / CARD
    if not path.is_file():
        raise ModelError(f"The model package has no file {CARD}.")
    if path.stat().st_size > MAX_BYTES:
        raise ModelError(f"{CARD} is larger than {MAX_BYTES} bytes: it is no card.")
    return parse_object(path.read_bytes(), CARD)


def _checked(kind: type[Kind], value: dict[str, Any]) -> Kind:
    try:
        # As JSON: lists stand for tuples there, and nothing else is converted.
        return kind.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise ModelError(f"{CARD} is not a card: {faults(error, kind)}.") from error


if __name__ == "__main__":
    sys.stdout.write(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n")
