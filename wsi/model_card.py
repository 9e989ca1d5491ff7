"""The model card: all that planning, inference and the result writers must know of a model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from wsi.numerics import PRECISION
from wsi.records.fields import known_fields


class Activation(StrEnum):
    NONE = "none"
    SOFTMAX = "softmax"
    SIGMOID = "sigmoid"


class OutputKind(StrEnum):
    CLASSIFICATION = "classification"  #: a probability for each class; of one column, for and against it
    REGRESSION = "regression"  #: a quantity for each column


class EdgeFill(StrEnum):
    """What a model sees outside the slide, in a box past its edge, and where the scanner took no picture."""

    WHITE = "white"
    BLACK = "black"  #: as WSInfer's own tool does, so that its packages give its numbers


class Resize(StrEnum):
    """How a level's box becomes a network's input of another side."""

    EXACT = "exact"  #: the antialiased triangle; fractions of grey values are kept
    PILLOW_BILINEAR = "pillow-bilinear"  #: as Pillow resizes 8 bits: whole grey values after each axis
    PILLOW_BICUBIC = "pillow-bicubic"


class ReadLevel(StrEnum):
    """Which level of the slide's pyramid a model's tiles are read from."""

    SUITABLE = "suitable"  #: the coarsest that is fine enough: as most tools do at inference, and quickest
    FINEST = "finest"  #: level 0, which was compressed once and which nobody but us has shrunk


class Channels(StrEnum):
    """The order in which a network takes colours; mean and std are in the same order."""

    RGB = "RGB"
    BGR = "BGR"  #: as OpenCV reads pictures


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputColumn:
    name: str  #: column of tiles.csv: "prob_Tumor", "haematoxylin_od"
    low: float = 0.0  #: value that the heatmap paints as 1
    high: float = 1.0  #: value that the heatmap paints as 255


@dataclass(frozen=True, kw_only=True, slots=True)
class Tolerance:
    """How far scores may lie from those of the same network in fp32. In parts of a column's range (`high - low`), which
    for a probability is the probability itself."""

    max_difference: float = 5e-3
    mean_difference: float = 5e-4
    top1_changes: float = 1e-3  #: share of tiles whose class changes
    reason: str = ""  #: why it is looser than the defaults; never empty then


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCard:
    name: str
    version: str
    digest: str  #: hex sha256 of the package
    kind: str  #: "builtin" | "torchscript" | "safetensors" | "onnx"
    tile_px: int  #: side of the model's tile at `mpp`
    mpp: float  #: microns a pixel that the model was trained at
    input_px: int  #: side that the network takes; the level's box is resized to it once
    columns: tuple[OutputColumn, ...]
    activation: Activation = Activation.NONE
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)  #: of colours in 0..1, subtracted
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)  #: of colours in 0..1, divided by
    channels: Channels = Channels.RGB
    read_level: ReadLevel = ReadLevel.SUITABLE
    resize: Resize = Resize.EXACT
    edge_fill: EdgeFill = EdgeFill.WHITE
    allow_upsampling: bool = False
    batch: int = 32  #: the one batch shape; the tail is padded
    precision: str = PRECISION  #: "fp32" | "fp16" | "bf16", on whatever device
    output: OutputKind = OutputKind.REGRESSION
    mpp_range: tuple[float, float] | None = None  #: um per px of the slides that the model was found to hold for
    tolerance: Tolerance = Tolerance()
    files: tuple[str, ...] = ()  #: of the package, in the order of its digest; of older cards WSInfer's two
    tiles_per_second: float | None = None  #: of the slowest allowed device; None while unmeasured
    description: str = ""
    stain: str | None = None
    organ: str | None = None
    licence: str | None = None

    @property
    def identity(self) -> str:
        """Of the numbers that the model gives: its digest, and the way of resizing where older versions read another
        one in the same package."""
        return self.digest if self.resize is Resize.EXACT else f"{self.digest} {self.resize}"

    def as_json(self) -> dict[str, Any]:
        """Fields that came later stand in it only where they are used: a registered version stays one card."""
        value = asdict(self)
        if self.channels is Channels.RGB:
            del value["channels"]
        if self.read_level is ReadLevel.SUITABLE:
            del value["read_level"]
        return value

    @staticmethod
    def from_json(value: dict[str, Any]) -> ModelCard:
        """Cards of older versions lack fields, those of newer ones have some that are left out."""
        mpp_range = value.get("mpp_range")
        fields: dict[str, Any] = {
            **known_fields(ModelCard, value),
            "columns": tuple(OutputColumn(**known_fields(OutputColumn, column)) for column in value["columns"]),
            "activation": Activation(value["activation"]),
            "edge_fill": EdgeFill(value["edge_fill"]),
            "resize": Resize(value.get("resize", Resize.EXACT)),
            "channels": Channels(value.get("channels", Channels.RGB)),
            "read_level": ReadLevel(value.get("read_level", ReadLevel.SUITABLE)),
            "mean": tuple(value["mean"]),
            "std": tuple(value["std"]),
            "output": OutputKind(value.get("output", OutputKind.REGRESSION)),
            "mpp_range": None if mpp_range is None else tuple(mpp_range),
            "tolerance": Tolerance(**known_fields(Tolerance, dict(value.get("tolerance", {})))),
            "files": tuple(value.get("files", ())),
        }
        return ModelCard(**fields)
