"""Read regions of a slide at several scales and save them as PNG.

python examples/read_regions.py slide.svs regions
"""

from __future__ import annotations

import argparse
from pathlib import Path

from PIL import Image

import tessera

parser = argparse.ArgumentParser(description="Save regions of a slide.")
parser.add_argument("slide", help="a file, a folder of one DICOM series, or an s3:// URL")
parser.add_argument("out", type=Path, help="the folder for the images")
arguments = parser.parse_args()
arguments.out.mkdir(parents=True, exist_ok=True)

with tessera.open(arguments.slide) as slide:
    print(slide)
    for number, level in enumerate(slide.levels):
        print(f"level {number}: {level.width:,} x {level.height:,} px, 1/{level.downsample:g}")

    Image.fromarray(slide.thumbnail(512)).save(arguments.out / "thumbnail.png")

    # The corner is in level-0 pixels. Without mpp the pixels are those of level 0, as the file has them.
    width, height = slide.dimensions
    middle = (width // 2, height // 2)
    Image.fromarray(slide.read_region(middle, 256)).save(arguments.out / "level-0.png")

    # With mpp each pixel covers that many microns on every slide, whatever levels its file has.
    if slide.mpp is not None:
        for mpp in (1.0, 2.0):
            pixels = slide.read_region(middle, (256, 256), mpp=mpp)
            Image.fromarray(pixels).save(arguments.out / f"{mpp:g}-microns.png")

for path in sorted(arguments.out.iterdir()):
    print(path)
