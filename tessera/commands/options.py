"""Options that commands share, so that all commands describe in the same words what changes the result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tessera.local_run.devices import Devices
from wsi.records.jobs import Priority
from wsi.records.model_card import ReadLevel
from wsi.records.outline import Frame

Mpp = Annotated[float | None, typer.Option(min=0.01, max=100, help="Microns a pixel of the slide; wins over the file.")]
OnDevice = Annotated[
    Devices, typer.Option(help="Where the model runs; all GPUs share each slide, with a process a GPU.")
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, help="Decoders: threads on the CPU (2), processes for each GPU (its share of the cores, less 2)."
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1024,
        help="Of a network on the CPU (as many as there are cores). Another number moves the last bits of scores.",
    ),
]
ApiKey = Annotated[str, typer.Option(envvar="TESSERA_API_KEY", help="API key, or the token of a person.")]
InQueue = Annotated[Priority, typer.Option(help="Which queue the work takes.")]
Label = Annotated[str | None, typer.Option(help="Free text for finding the job again.")]
NotifyEmail = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Who gets a mail when a job ends.")]
NotifyWebhook = Annotated[
    str | None, typer.Option(metavar="URL", help="What is called when a job ends: https, signed.")
]

AllowUpsampling = Annotated[
    bool, typer.Option("--allow-upsampling", help="Take slides that are coarser than the model's scale.")
]
FromLevel = Annotated[
    ReadLevel | None,
    typer.Option("--read-level", help="finest reads level 0, slower; suitable the coarsest that is fine enough."),
]
Fast = Annotated[
    bool, typer.Option("--fast", help="Decode JPEG at half size where that is enough: quicker, not exact.")
]
OpticalPath = Annotated[
    str | None, typer.Option(metavar="ID", help="Which optical path, of a DICOM slide that holds several.")
]
FocalPlane = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Which plane of focus, of a DICOM slide that holds several; 1 is nearest the glass."
    ),
]
Picture = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Which image, of a file that holds several scans: its number, as the refusal lists them.",
    ),
]
Deidentify = Annotated[
    bool,
    typer.Option(
        "--deidentify", help="Label, macro and identifiers are removed from the slide before it is ready, for good."
    ),
]
RegionGeojson = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Polygons to analyse in place of the tissue found, GeoJSON. One slide only."),
]
RegionFrame = Annotated[Frame, typer.Option(help="What the polygons count from: level 0, or what QuPath shows.")]
Objects = Annotated[
    Path | None,
    typer.Option(
        "--objects",
        metavar="FILE",
        help="Objects, such as cells, to analyse in place of tissue: GeoJSON or GeoParquet. One slide only.",
    ),
]
ObjectsFrame = Annotated[Frame, typer.Option(help="What the objects count from: level 0, or what QuPath shows.")]
