"""Run a model over one slide, then look at its tiles and its heatmap.

python examples/run_slide.py slide.svs
python examples/run_slide.py slide.svs --model path/to/package --out results
"""

from __future__ import annotations

import argparse

import numpy as np

import tessera

parser = argparse.ArgumentParser(description="Run a model over one slide.")
parser.add_argument("slide", help="a file, a folder of one DICOM series, or an s3:// URL")
parser.add_argument("--model", default="stain-density", help="a built-in model, or the folder of a package")
parser.add_argument("--out", help="where results go")
arguments = parser.parse_args()

# The second call with the same arguments returns at once: the results are in the folder already.
result = tessera.run(arguments.slide, model=arguments.model, out=arguments.out)
print(result)

# One row per tile: its box in level-0 pixels, and the model's columns.
tiles = result.tiles
for column in result.columns:
    values = np.asarray(tiles[column])
    if len(values):
        most = int(values.argmax())
        x, y = int(tiles["minx"][most]), int(tiles["miny"][most])
        print(f"{column}: mean {values.mean():.3f}, highest {values[most]:.3f} at ({x}, {y})")

# One pixel per tile, NaN where there is no tissue. In a notebook: matplotlib.pyplot.imshow(heatmap)
heatmap = result.heatmap()
print(f"heatmap of {result.columns[0]}, {heatmap.shape[1]} x {heatmap.shape[0]} tiles:")
low, high = (np.nanmin(heatmap), np.nanmax(heatmap)) if np.isfinite(heatmap).any() else (0.0, 1.0)
for row in heatmap:
    shades = ("." if np.isnan(value) else str(int(9 * (value - low) / max(high - low, 1e-9))) for value in row)
    print("  " + "".join(shades))
