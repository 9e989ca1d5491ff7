"""Models that need no package. Their code is in the worker, which has their weights or fetches them itself; their cards
are here, for planning and the API."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, replace
from types import MappingProxyType

from wsi.records.model_card import VECTOR_TOLERANCE, Activation, ModelCard, OutputColumn, OutputKind
from wsi.records.models import ModelVersion
from wsi.records.outputs import CoreRule, EmbeddingOutput, ObjectOutput

#: Raise a model's number, and its card's version, when its code changes a single value: the digest changes with it, so
#: that old results are not taken for new ones, and an installation registers no version twice.
ALGORITHM_VERSIONS: Mapping[str, int] = MappingProxyType(
    {"stain-density": 2, "epithelium": 1, "efficientnet-lite0": 1, "nuclei": 1, "nuclei-zeiss": 1}
)


#: Fields that cards were given after the first digests were made. At their default they are left out of a digest, so
#: that it stays what it was.
_LATER = {"precision", "output", "mpp_range", "tolerance", "files", "organ", "resize"}
#: Fields that follow from a model's code. Its algorithm version is in the digest and speaks for them.
_OF_THE_CODE = {"needs_stains"}


def _with_digest(card: ModelCard) -> ModelCard:
    """Return the card with a digest of its own in place of a package's: sha256 of card and algorithm version."""
    unsaid = {
        field.name for field in fields(card) if field.name in _LATER and getattr(card, field.name) == field.default
    }
    said = {name: value for name, value in card.as_json().items() if name not in unsaid | _OF_THE_CODE}
    value = {"algorithm": ALGORITHM_VERSIONS[card.name], "card": said}
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return replace(card, digest=hashlib.sha256(text.encode()).hexdigest())


STAIN_DENSITY = _with_digest(
    ModelCard(
        name="stain-density",
        version="1.1",
        digest="",
        kind="builtin",
        tile_px=256,
        mpp=0.5,
        input_px=256,
        columns=(
            # An optical density of 2 lets 1 % of the light through; stained nuclei lie between 0.3 and 1.5.
            OutputColumn(name="haematoxylin_od", low=0.0, high=2.0),
            OutputColumn(name="eosin_od", low=0.0, high=2.0),
            OutputColumn(name="dab_od", low=0.0, high=2.0),
            OutputColumn(name="nuclear_fraction", low=0.0, high=1.0),
        ),
        description=(
            "Mean optical density of haematoxylin, eosin and DAB and the share of nuclear area per tile, by colour "
            "deconvolution (Ruifrok and Johnston 2001)."
        ),
        stain="H&E, H-DAB",
    )
)

EPITHELIUM = _with_digest(
    ModelCard(
        name="epithelium",
        version="0.9.1",
        digest="",
        kind="builtin",
        tile_px=1024,
        mpp=1.0,
        input_px=1024,
        columns=(
            OutputColumn(name="epithelium_fraction"),
            # The network does not tell lumen from the glass around the tissue.
            OutputColumn(name="lumen_or_glass_fraction"),
        ),
        needs_stains=True,
        batch=1,
        description=(
            "Share of a tile's area that is glandular epithelium, and that is lumen or other clear glass, by the "
            "segmentation network of lavlab-shell 0.9.1. Made for prostate; elsewhere a demonstration."
        ),
        stain="H&E",
        organ="prostate",
        licence="MIT",
    )
)

EFFICIENTNET_LITE0 = _with_digest(
    ModelCard(
        name="efficientnet-lite0",
        version="0.1.0",
        digest="",
        kind="builtin",
        tile_px=224,
        mpp=0.5,
        input_px=224,
        columns=(),
        mean=(0.5, 0.5, 0.5),
        std=(0.5, 0.5, 0.5),
        output=OutputKind.EMBEDDING,
        embedding=EmbeddingOutput(dimensions=1280, pooling="global average"),
        batch=64,
        tolerance=VECTOR_TOLERANCE,
        description=(
            "A vector of 1,280 numbers for each tile, by EfficientNet-Lite0 with Google's ImageNet weights. The "
            "network was trained on photographs: a demonstration encoder whose vectors have no meaning in pathology."
        ),
        licence="Apache-2.0",
    )
)

NUCLEI = _with_digest(
    ModelCard(
        name="nuclei",
        version="1.0",
        digest="",
        kind="builtin",
        tile_px=1024,
        mpp=0.5,
        input_px=1024,
        columns=(),
        activation=Activation.SIGMOID,
        mean=(0.485, 0.456, 0.406),
        std=(0.229, 0.224, 0.225),
        output=OutputKind.DETECTION,
        objects=ObjectOutput(
            classes=("Nucleus",),
            rule=CoreRule(inside=128, core=140, least_core=6, reach=18),
            stride=8,
            margin=46,  # measured: inference.models.checks.receptive_field
            largest=64,
        ),
        batch=8,
        description=(
            "Outlines of nuclei, by a small network of Tessera's own that learned from one annotated image: for "
            "demonstrations and research, and for no diagnosis."
        ),
        stain="H&E",
        licence="Apache-2.0",
    )
)

NUCLEI_ZEISS = _with_digest(
    ModelCard(
        name="nuclei-zeiss",
        version="0.1.2",
        digest="",
        kind="builtin",
        tile_px=1024,
        # Boxes of slides of 0.25 and 0.5 um per px are whole then.
        mpp=0.15625,
        input_px=1024,
        columns=(),
        output=OutputKind.DETECTION,
        objects=ObjectOutput(
            classes=("Nucleus",),
            # Chosen on a quadrant of the image in models/nuclei, of 18 pairs: F1 0.42 there, 0.38 on another quadrant.
            rule=CoreRule(inside=51, core=235, least_core=54, reach=54),
            stride=32,
            margin=128,
            largest=128,
        ),
        needs_stains=True,
        allow_upsampling=True,
        mpp_range=(0.2, 0.55),
        batch=1,
        description=(
            "Outlines of nuclei, by the network for fluorescence of napari-czann-segment 0.1.2, which is given the "
            "amount of haematoxylin. Touching nuclei are often merged, and where tiles begin shows in the objects: for "
            "tests and comparisons."
        ),
        stain="H&E",
        licence="BSD-3-Clause",
    )
)

BUILTIN: Mapping[str, ModelCard] = MappingProxyType(
    {card.name: card for card in (STAIN_DENSITY, EPITHELIUM, EFFICIENTNET_LITE0, NUCLEI, NUCLEI_ZEISS)}
)


def read_registered_card(model: ModelVersion) -> ModelCard:
    """Return the card of a registered model. A built-in model's is the one above if the digests are equal: an earlier
    release may have registered it without fields that were added later."""
    card = ModelCard.from_json(model.card)
    known = BUILTIN.get(card.name) if card.kind == "builtin" else None
    return known if known is not None and known.digest == card.digest else card
