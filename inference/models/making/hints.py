"""Hints on a network in the files next to its weights: configs of timm, Hugging Face and MONAI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from inference.models.architectures import ARGUMENTS
from inference.models.card.json_object import parse_object
from wsi.records.model_card import Resize

_MOST: Final = 1024 * 1024  #: bytes of a config
_RESIZES: Final[Mapping[Any, Resize]] = {
    "bilinear": Resize.PILLOW_BILINEAR,
    "bicubic": Resize.PILLOW_BICUBIC,
    2: Resize.PILLOW_BILINEAR,  # PIL.Image.Resampling, as preprocessor_config.json has it
    3: Resize.PILLOW_BICUBIC,
}
Triple = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Hints:
    """Hints on a network; None or empty where the files state nothing."""

    architecture: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    mean: Triple | None = None
    std: Triple | None = None
    input_px: int | None = None
    resize: Resize | None = None
    classes: tuple[str, ...] = ()
    said_by: tuple[str, ...] = ()  #: names of the files


def read_hints(weights: Path) -> Hints:
    """Read hints from the configs in the folder of the weights. Raises ModelError for a config that is not JSON."""
    folder = weights.parent
    config, timm = _read(folder / "config.json"), {}
    processor = _read(folder / "preprocessor_config.json")
    if isinstance(config.get("pretrained_cfg"), dict):
        timm = config["pretrained_cfg"]
    arguments = config.get("model_args") if isinstance(config.get("model_args"), dict) else {}
    architecture = config.get("architecture")
    labels = config.get("id2label") or {}
    return Hints(
        architecture=f"timm/{architecture}" if isinstance(architecture, str) and timm else None,
        # Without pooling an encoder gives all its tokens, which are no columns.
        arguments={
            name: value
            for name, value in (arguments or {}).items()
            if name in ARGUMENTS["timm"] and (name, value) != ("global_pool", "")
        },
        mean=_triple(timm.get("mean") or processor.get("image_mean")),
        std=_triple(timm.get("std") or processor.get("image_std")),
        input_px=_side(timm.get("input_size") or processor.get("crop_size") or processor.get("size")),
        resize=_RESIZES.get(timm.get("interpolation") or processor.get("resample")),
        classes=tuple(str(name) for name in labels.values()) if isinstance(labels, dict) else (),
        said_by=tuple(
            name for name, found in (("config.json", config), ("preprocessor_config.json", processor)) if found
        ),
    )


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file() or path.stat().st_size > _MOST:
        return {}
    return parse_object(path.read_bytes(), path.name)


def _triple(value: Any) -> Triple | None:
    if isinstance(value, list | tuple) and len(value) == 3 and all(isinstance(one, int | float) for one in value):
        red, green, blue = map(float, value)
        return red, green, blue
    return None


def _side(value: Any) -> int | None:
    """Return 224 of [3, 224, 224], {"height": 224, "width": 224}, {"shortest_edge": 224} or 224."""
    if isinstance(value, dict):
        value = value.get("height") or value.get("shortest_edge")
    if isinstance(value, list | tuple) and value:
        value = value[-1]
    return value if type(value) is int and value > 0 else None
