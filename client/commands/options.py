"""Options that `tessera run` and `tessera submit` share: what changes the result is said in the same words by both."""

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
RegionGeojson = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Polygons to analyse in place of the tissue found, GeoJSON. One slide only."),
]
RegionFrame = Annotated[Frame, typer.Option(help="What the polygons count from: level 0, or what QuPath shows.")]
