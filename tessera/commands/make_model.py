"""`tessera models make`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tessera.local_run.inputs import UsageError
from tessera.models.normalisations import NORMALISATIONS
from tessera.progress import complain
from wsi.records.model_card import Activation, OutputKind, Resize


def make(
    source: Annotated[Path, typer.Argument(metavar="WEIGHTS", help="A file or folder as it was published.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the package goes; new or empty.")],
    *,
    architecture: Annotated[str | None, typer.Option(help="As timm/resnet50; else it is found by its shapes.")] = None,
    arguments: Annotated[str | None, typer.Option(metavar="JSON", help="Of the architecture.")] = None,
    mpp: Annotated[float | None, typer.Option(help="µm per pixel that the model was trained at.")] = None,
    tile_px: Annotated[int | None, typer.Option(help="Side of a tile at that mpp; the input's unless said.")] = None,
    input_px: Annotated[int | None, typer.Option(help="Side that the network takes.")] = None,
    classes: Annotated[str | None, typer.Option(help="Names, divided by commas, in the order of its outputs.")] = None,
    activation: Annotated[Activation | None, typer.Option(help="What its outputs need.")] = None,
    output: Annotated[OutputKind | None, typer.Option(help="Classification unless said.")] = None,
    normalise: Annotated[
        str | None, typer.Option(help="imagenet, half, none, or six numbers: means and deviations of R, G, B.")
    ] = None,
    resize: Annotated[Resize | None, typer.Option(help="How tiles become the input's side.")] = None,
    licence: Annotated[str | None, typer.Option(help="Of the weights.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, max=4096, help="Tiles that are computed at once.")] = None,
) -> None:
    """Make a package of weights as people publish them: .pth, .bin, .ckpt, safetensors, a folder of Hugging Face, timm
    or MONAI, .pt2, TorchScript or ONNX. No code of theirs is run. The package is checked before it is there."""
    from tessera.models.making import Stated, make_package

    mean, std = _parse_normalisation(normalise)
    stated = Stated(
        architecture=architecture,
        arguments=_arguments(arguments),
        mpp=mpp,
        tile_px=tile_px,
        input_px=input_px,
        classes=tuple(name.strip() for name in classes.split(",") if name.strip()) if classes else (),
        activation=activation,
        output=output,
        mean=mean,
        std=std,
        resize=resize,
        licence=licence,
        batch=batch,
    )
    with Console(stderr=True).status("Reading the weights, and looking for their architecture …"):
        made = make_package(source, folder, stated)
    for note in made.notes:
        complain(note)
    Console(soft_wrap=True, highlight=False).print(
        f"{folder} is a package and passed the check; its digest is {made.card.digest}\n"
        f"Next: tessera models golden {folder} --slide SLIDE",
        markup=False,
    )


def _parse_normalisation(text: str | None) -> tuple[Any, Any]:
    if text is None:
        return None, None
    if text in NORMALISATIONS:
        return NORMALISATIONS[text]
    try:
        numbers = [float(part) for part in text.replace("/", ",").replace(";", ",").split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 6:
        raise UsageError(
            f"--normalise must be {', '.join(NORMALISATIONS)}, or six numbers divided by commas: three means, three "
            "deviations"
        )
    return tuple(numbers[:3]), tuple(numbers[3:])


def _arguments(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise UsageError('--arguments must be a JSON object, as {"img_size": 224}')
    return value
