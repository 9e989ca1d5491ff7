"""`tessera convert`: the vectors of results in the form that other tools read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tessera.local_run.inputs import UsageError
from tessera.progress import open_slides_bar


def convert(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULTS…", help="Folders with a features.h5, or folders of such folders.")
    ],
    *,
    pt: Annotated[Path, typer.Option(metavar="DIR", help="Where the .pt files go, one a slide.")],
) -> None:
    """Write the vectors of results as .pt files, as CLAM reads them: DIR/<folder of the result>.pt holds a float32
    tensor [tiles, dimensions], in the order of features.h5."""
    import h5py  # pyright: ignore[reportMissingTypeStubs]
    import numpy as np

    from inference.tensor_file import save_tensor
    from wsi.results.features.features_h5 import NAME

    found = sorted(path for folder in results for path in (folder / NAME, *folder.glob(f"*/{NAME}")) if path.is_file())
    if not found:
        raise UsageError(
            f"There is no {NAME} in {', '.join(map(str, results))}: name folders that `tessera run` wrote."
        )
    names = [path.resolve().parent.name for path in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"Two results are named {', '.join(twice)}: write them into folders of their own.")
    pt.mkdir(parents=True, exist_ok=True)
    with open_slides_bar(len(found)) as begin_slide:
        for path, name in zip(found, names, strict=True):
            begin_slide(name)
            with h5py.File(path, "r") as file:
                values = np.asarray(file["features"], np.float32)
            save_tensor(pt / f"{name}.pt", values)
    typer.echo(f"{len(found)} file{'s' if len(found) > 1 else ''} in {pt}")
