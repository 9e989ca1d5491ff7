"""The model card: all that planning, inference and the result writers must know of a model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from wsi.numerics import PRECISION
from wsi.records.fields import select_known_fields
from wsi.records.outputs import EmbeddingOutput, ObjectOutput
from wsi.records.stain_normalisation import StainNormalisation, read_stain_normalisation


class Activation(StrEnum):
    NONE = "none"
    SOFTMAX = "softmax"
    SIGMOID = "sigmoid"


class OutputKind(StrEnum):
    CLASSIFICATION = "classification"  #: a probability for each class; of one column, for and against it
    REGRESSION = "regression"  #: a quantity for each column
    EMBEDDING = "embedding"  #: a vector for each tile, without columns
    DETECTION = "detection"  #: maps over each tile, in which objects are found; without columns


#: Kinds of output that give each tile a row of columns.
SCORES: Final = frozenset({OutputKind.CLASSIFICATION, OutputKind.REGRESSION})


class EdgeFill(StrEnum):
    """The colour that a model sees outside the slide, in a box past its edge, and where the scanner took no image."""

    WHITE = "white"
    BLACK = "black"  #: as WSInfer's own tool does, so that its packages give its numbers


class Resize(StrEnum):
    """The method that resizes a level's box to a network's input of another side."""

    EXACT = "exact"  #: the antialiased triangle; fractions of grey values are kept
    PILLOW_BILINEAR = "pillow-bilinear"  #: as Pillow resizes 8 bits: whole grey values after each axis
    PILLOW_BICUBIC = "pillow-bicubic"


class ReadLevel(StrEnum):
    """The level of the slide's pyramid that a model's tiles are read from."""

    SUITABLE = "suitable"  #: the coarsest that is fine enough: as most tools do at inference, and quickest
    FINEST = "finest"  #: level 0, which was compressed once and which nobody but us has shrunk


class Channels(StrEnum):
    """The order in which a network takes colours; mean and std are in the same order."""

    RGB = "RGB"
    BGR = "BGR"  #: as OpenCV reads pictures


class Boxes(StrEnum):
    """The place of a tile's box in the pixels of the level that is read."""

    WHOLE = "whole"  #: rounded to whole pixels, place and size: at most half a pixel off
    RESAMPLED = "resampled"  #: to 1/1024 px, place and size: the resize to input_px samples it there


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputColumn:
    name: str  #: column of tiles.csv: "prob_Tumor", "haematoxylin_od"
    low: float = 0.0  #: value that the heatmap paints as 1
    high: float = 1.0  #: value that the heatmap paints as 255
    title: str = ""  #: for people, in place of the name: "Tumour"
    unit: str = ""  #: of the values: "%", "µm"
    meaning: str = ""  #: a sentence for people who read the results
    has_range: bool = True  #: whether low and high are the ends of what values mean, and no mere choice for the heatmap

    def as_json(self) -> dict[str, Any]:
        """Return its fields; the newest ones only where they are used, so that a registered version keeps its card."""
        value = asdict(self)
        return {name: value[name] for name in value if name not in _LATER or value[name] != _LATER[name]}


#: Fields of a column that came later, with what they are where nobody states them.
_LATER = {"title": "", "unit": "", "meaning": "", "has_range": True}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tolerance:
    """The largest allowed differences from the scores of the same network in fp32. They are parts of a column's range
    (`high - low`), which for a probability is the probability itself; of vectors, parts of the vector's length."""

    max_difference: float = 5e-3
    mean_difference: float = 5e-4
    top1_changes: float = 1e-3  #: share of tiles whose class changes
    reason: str = ""  #: why it is looser than the defaults; never empty then


#: The defaults of vectors. A vector whose difference has a fiftieth of its length has a cosine of 0.9998 to the one in
#: fp32, so that whoever ranks or averages vectors sees no difference. What each value of 1,280 loses by rounding adds
#: up: EfficientNet-Lite0 in fp16 differs by 0.007 on average and 0.011 at most, and in bf16, which is too coarse for
#: it, by 0.08 and 0.13.
VECTOR_TOLERANCE = Tolerance(max_difference=2e-2, mean_difference=1e-2)


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
    boxes: Boxes = Boxes.WHOLE
    stain_normalisation: StainNormalisation | None = None  #: of tiles of input_px, before mean and std
    needs_stains: bool = False  #: the plan pins the stains of its slide (`wsi.planning.stains`)
    edge_fill: EdgeFill = EdgeFill.WHITE
    allow_upsampling: bool = False
    batch: int = 32  #: the one batch shape; the tail is padded
    precision: str = PRECISION  #: "fp32" | "fp16" | "bf16", on whatever device
    output: OutputKind = OutputKind.REGRESSION
    embedding: EmbeddingOutput | None = None  #: of an EMBEDDING, and of no other
    objects: ObjectOutput | None = None  #: of a DETECTION, and of no other
    mpp_range: tuple[float, float] | None = None  #: um per px of the slides that the model was found to hold for
    tolerance: Tolerance = Tolerance()
    files: tuple[str, ...] = ()  #: of the package, in the order of its digest; of older cards WSInfer's two
    tiles_per_second: float | None = None  #: of the slowest allowed device; None while unmeasured
    description: str = ""
    stain: str | None = None
    organ: str | None = None
    licence: str | None = None

    @property
    def width(self) -> int:
        """Return the numbers that the model gives for a tile; 0 for one that gives maps."""
        return self.embedding.dimensions if self.embedding is not None else len(self.columns)

    @property
    def identity(self) -> str:
        """The identity of the model's numbers: its digest, and the resize method where older versions used another one
        for the same package."""
        return self.digest if self.resize is Resize.EXACT else f"{self.digest} {self.resize}"

    def as_json(self) -> dict[str, Any]:
        """Return its fields; the newest ones only where they are used, so that a registered version keeps its card."""
        value = asdict(self)
        value["columns"] = tuple(column.as_json() for column in self.columns)
        if self.channels is Channels.RGB:
            del value["channels"]
        if self.read_level is ReadLevel.SUITABLE:
            del value["read_level"]
        if self.boxes is Boxes.WHOLE:
            del value["boxes"]
        if self.stain_normalisation is None:
            del value["stain_normalisation"]
        if not self.needs_stains:
            del value["needs_stains"]
        if self.embedding is None:
            del value["embedding"]
        if self.objects is None:
            del value["objects"]
        return value

    @staticmethod
    def from_json(value: dict[str, Any]) -> ModelCard:
        """Read a card. Cards of older versions lack fields; unknown fields of newer ones are left out."""
        mpp_range = value.get("mpp_range")
        fields: dict[str, Any] = {
            **select_known_fields(ModelCard, value),
            "columns": tuple(OutputColumn(**select_known_fields(OutputColumn, column)) for column in value["columns"]),
            "activation": Activation(value["activation"]),
            "edge_fill": EdgeFill(value["edge_fill"]),
            "resize": Resize(value.get("resize", Resize.EXACT)),
            "channels": Channels(value.get("channels", Channels.RGB)),
            "read_level": ReadLevel(value.get("read_level", ReadLevel.SUITABLE)),
            "boxes": Boxes(value.get("boxes", Boxes.WHOLE)),
            "stain_normalisation": read_stain_normalisation(value.get("stain_normalisation")),
            "embedding": EmbeddingOutput.from_json(value.get("embedding")),
            "objects": ObjectOutput.from_json(value.get("objects")),
            "mean": tuple(value["mean"]),
            "std": tuple(value["std"]),
            "output": OutputKind(value.get("output", OutputKind.REGRESSION)),
            "mpp_range": None if mpp_range is None else tuple(mpp_range),
            "tolerance": Tolerance(**select_known_fields(Tolerance, dict(value.get("tolerance", {})))),
            "files": tuple(value.get("files", ())),
        }
        return ModelCard(**fields)
