"""Options that commands share: what changes the result is said in the same words by all."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wsi.outline import Frame

AllowUpsampling = Annotated[
    bool, typer.Option("--allow-upsampling", help="Take slides that are coarser than the model's scale.")
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
