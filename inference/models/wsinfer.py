"""The WSInfer zoo's package layout, as it is: a folder with `config.json` (spec 1.0) and `torchscript_model.pt`.

Schema: wsinfer_zoo/schemas/model-config.schema.json. What it leaves open is fixed here as WSInfer's own tool does:
softmax for several logits and sigmoid for one, tiles past the slide's edge filled black, slides coarser than the
model enlarged. Its steps are torchvision's over Pillow pictures (wsinfer/modellib/transforms.py): `Resize` is Pillow's,
bilinear unless it says otherwise, and always antialiased.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inference.models.card.json_object import parse_object
from wsi.errors import ModelError
from wsi.models.package_files import CONFIG, TORCHSCRIPT
from wsi.records.model_card import Activation, EdgeFill, ModelCard, OutputColumn, OutputKind, Resize
from wsi.texts import holds_control

FILES = (CONFIG, TORCHSCRIPT)
#: Sides in px of a tile and of a network's input. The zoo has 96 to 1,024; far more would fill the memory.
MAX_SIDE = 4096
#: um/px. A model below or above was trained on no slide.
FINEST, COARSEST = 0.01, 100.0
#: Of mean and std, which belong to values in 0..1; a whole number in JSON may pass every float.
LARGEST = 1e6
#: A config is a page of text; more is something else.
MAX_CONFIG_BYTES = 1024 * 1024
#: Bytes that an archive may have more when unpacked: torch stores weights as they are and packs source text alone.
MAX_UNPACKED = 64 * 1024**2

_KEYS = (
    "spec_version",
    "architecture",
    "num_classes",
    "class_names",
    "patch_size_pixels",
    "spacing_um_px",
    "transform",
)

#: Numbers of PIL.Image.Resampling, which is all of `interpolation` that torchvision takes from JSON.
_BILINEAR, _BICUBIC = 2, 3
_INTERPOLATIONS = {_BILINEAR: Resize.PILLOW_BILINEAR, _BICUBIC: Resize.PILLOW_BICUBIC}

Triple = tuple[float, float, float]


def read_config(folder: Path) -> ModelCard:
    """Read the card of a WSInfer package, without name and digest. Raises ModelError with a message that names the key
    at fault."""
    for name in FILES:
        if not (folder / name).is_file():
            raise ModelError(
                f"The model package has no file {name}; a WSInfer package holds {' and '.join(FILES)}. "
                "`tessera models make` makes a package of other weights."
            )
    config = _config(folder / CONFIG)
    names = _class_names(config)
    tile_px = _side(config["patch_size_pixels"], "patch_size_pixels")
    resize, input_px, mean, std = _transform(config["transform"], tile_px)
    return ModelCard(
        name="",
        version="",
        digest="",
        kind="torchscript",
        tile_px=tile_px,
        mpp=_spacing(config),
        input_px=input_px,
        columns=tuple(OutputColumn(name=f"prob_{name}") for name in names),
        activation=Activation.SOFTMAX if len(names) > 1 else Activation.SIGMOID,
        mean=mean,
        std=std,
        resize=resize,
        edge_fill=EdgeFill.BLACK,
        allow_upsampling=True,
        output=OutputKind.CLASSIFICATION,
        files=FILES,
        description=str(config["architecture"]),
    )


def _config(path: Path) -> dict[str, Any]:
    if path.stat().st_size > MAX_CONFIG_BYTES:
        raise ModelError(f"{CONFIG} is larger than {MAX_CONFIG_BYTES} bytes: it is no WSInfer config.")
    config = parse_object(path.read_bytes(), CONFIG)
    missing = [key for key in _KEYS if key not in config]
    if missing:
        raise ModelError(f"{CONFIG} lacks {', '.join(missing)}.")
    if config["spec_version"] != "1.0":
        raise ModelError(f"{CONFIG} is of spec_version {config['spec_version']!r}; this worker reads 1.0.")
    return config


def _integer(config: dict[str, Any], key: str) -> int:
    value = config[key]
    if type(value) is not int or value < 1:
        raise ModelError(f"{key} in {CONFIG} must be a whole number above 0, not {value!r}.")
    return value


def _side(value: Any, what: str) -> int:
    if type(value) is not int or not 1 <= value <= MAX_SIDE:
        raise ModelError(f"{what} in {CONFIG} must be a whole number of px from 1 to {MAX_SIDE}, not {value!r}.")
    return value


def _spacing(config: dict[str, Any]) -> float:
    value = config["spacing_um_px"]
    # The schema lets 0 pass, which would make every box infinite.
    if type(value) not in (int, float) or not FINEST <= value <= COARSEST:
        raise ModelError(
            f"spacing_um_px in {CONFIG} must be microns per pixel from {FINEST:g} to {COARSEST:g}, not {value!r}."
        )
    return float(value)


def _class_names(config: dict[str, Any]) -> list[str]:
    names = config["class_names"]
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ModelError(f"class_names in {CONFIG} must be a list of names.")
    if any(map(holds_control, names)):  # tables and the heatmap's XML cannot hold them
        raise ModelError(f"class_names in {CONFIG} holds control characters: rename the class.")
    if len(set(names)) != len(names):
        raise ModelError(f"class_names in {CONFIG} names a class twice.")
    # Not in the schema: WSInfer checks it in its client.
    if len(names) != _integer(config, "num_classes"):
        raise ModelError(f"{CONFIG} has num_classes {config['num_classes']} and {len(names)} class_names.")
    return names


def _transform(steps: Any, tile_px: int) -> tuple[Resize, int, Triple, Triple]:
    """Return the resize, the input side in px, mean and std. Accepts the steps that the zoo has: [Resize], ToTensor,
    [Normalize]."""
    if not isinstance(steps, list) or not all(isinstance(step, dict) and "name" in step for step in steps):
        raise ModelError(f"transform in {CONFIG} must be a list of named steps.")
    names = [step["name"] for step in steps]
    if names != [name for name in ("Resize", "ToTensor", "Normalize") if name in names] or "ToTensor" not in names:
        raise ModelError(
            f"transform in {CONFIG} must be Resize (optional), ToTensor, Normalize (optional), in this order, "
            f"not {', '.join(map(str, names)) or 'empty'}."
        )
    arguments = {step["name"]: step.get("arguments") or {} for step in steps}
    if not all(isinstance(values, dict) for values in arguments.values()):
        raise ModelError(f"The arguments of a step of transform in {CONFIG} must be an object.")
    _only(arguments["ToTensor"], "ToTensor", ())
    resize, input_px = _resize(arguments["Resize"]) if "Resize" in arguments else (Resize.EXACT, tile_px)
    if "Normalize" not in arguments:
        return resize, input_px, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    _only(arguments["Normalize"], "Normalize", ("mean", "std"))
    mean, std = (_triple(arguments["Normalize"], key) for key in ("mean", "std"))
    if min(std) <= 0:
        raise ModelError(f"std of Normalize in {CONFIG} must be above 0.")
    return resize, input_px, mean, std


def _resize(arguments: dict[str, Any]) -> tuple[Resize, int]:
    _only(arguments, "Resize", ("size", "interpolation", "max_size", "antialias"))
    if arguments.get("max_size") is not None:
        raise ModelError(f"Resize in {CONFIG} has a max_size; this worker resizes tiles to one side.")
    # Of pictures torchvision ignores it: Pillow knows no other way.
    if arguments.get("antialias") not in (True, False, None):
        raise ModelError(f"antialias of Resize in {CONFIG} must be true, false or null.")
    interpolation = arguments.get("interpolation", _BILINEAR)
    if type(interpolation) is not int or interpolation not in _INTERPOLATIONS:
        raise ModelError(
            f"interpolation of Resize in {CONFIG} must be Pillow's number {_BILINEAR} (bilinear) or {_BICUBIC} "
            f"(bicubic), not {interpolation!r}."
        )
    size = arguments.get("size")
    sides = size if isinstance(size, list) else [size]
    if len(sides) not in (1, 2) or len(set(map(str, sides))) != 1:
        raise ModelError(f"size of Resize in {CONFIG} must be one whole number of px (tiles are square), not {size!r}.")
    return _INTERPOLATIONS[interpolation], _side(sides[0], "size of Resize")


def _triple(arguments: dict[str, Any], key: str) -> Triple:
    value = arguments.get(key)
    if (
        isinstance(value, list)
        and len(value) == 3
        and all(type(number) in (int, float) and abs(number) <= LARGEST for number in value)
    ):
        red, green, blue = map(float, value)
        return red, green, blue
    raise ModelError(f"{key} of Normalize in {CONFIG} must be three numbers, not {value!r}.")


def _only(arguments: dict[str, Any], step: str, known: Sequence[str]) -> None:
    """Raise ModelError for an argument that is not `known`: ignoring it would change the numbers silently."""
    unknown = sorted(set(arguments) - set(known))
    if unknown:
        raise ModelError(f"{step} in {CONFIG} has the argument {', '.join(unknown)}, which this worker does not know.")
