"""Patches from a slide behind 20 ms of network, next to the peers' ways on the same file on this disk.
`python -m benchmarks.reading` (about a minute); each arm runs in a fresh process, back to back. `python -m
benchmarks.reading one-level` examines slides of 100,000 x 100,000 px without overviews instead (minutes).

Ours is the worker's own stages (fetch, decode, batch) in the plan's order, shard by shard, over the production's S3
reader and a local range server. The peers are one OpenSlide handle, and `DataLoader(openslide)` with 1 and 2 workers
and torchvision's ToTensor and Normalize. The arms give float32 batches normalised by the same mean and deviation, and
their first patches are compared; those named "bytes" leave it out, as the worker does, which normalises on the GPU.
Ours keeps channels last, in which models run fastest; the DataLoader makes them first.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.slide_server import serve
from tests.slides import write_svs
from tests.slides.giant import write_giant

WIDTH, HEIGHT = 40_000, 38_000  #: px of level 0
LATENCY: Final = 20  #: ms added to every answer
MIB: Final = 1024**2
ARMS: Final = ("ours", "openslide", "dataloader-1", "dataloader-2")
HEAD: Final = (
    "arm                     patches/s  per CPU s  requests  per MiB  MB read  of wanted  peak MB\n"
    "----------------------  ---------  ---------  --------  -------  -------  ---------  -------"
)


def main(one_level: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serve(folder, milliseconds=LATENCY) as url:
            if one_level:
                for codec in ("jpeg", "jpeg2000"):
                    slide = write_giant(folder / f"{codec}.svs", levels=(1,), codec=codec)
                    _inspection(f"100,000 px of one level, {codec}", _child("inspection", "once", slide, url))
            else:
                _patches(folder, url)


def _patches(folder: Path, url: str) -> None:
    tissue = (WIDTH // 5, HEIGHT // 5, WIDTH - WIDTH // 5, HEIGHT - HEIGHT // 5)
    shape: dict[str, Any] = {"width": WIDTH, "height": HEIGHT, "levels": (1, 4, 16), "tissue": tissue}
    slide = write_svs(folder / "slide.svs", **shape, rgb=False, quality=92, pool=200)
    giant = write_giant(folder / "giant.svs")
    cores, size, load = os.cpu_count(), slide.stat().st_size / 1e6, os.getloadavg()[0]
    print(f"{platform.machine()}, {cores} cores, load {load:.1f}; slide of {size:.0f} MB, {LATENCY} ms away from ours")
    print(HEAD)
    for how in ("normalised", "bytes"):
        found = {arm: _row(f"{arm}, {how}", _child(arm, how, slide, url, *tissue)) for arm in ARMS}
        _compare(how, found)
    _row("ours, 100,000 px, bytes", _child("ours", "bytes", giant, url, 0, 20_000, 100_000, 30_000))
    found = _child("rows", "", slide, url, 30)
    rate, waste = found["requests"] / (found["wanted"] / MIB), found["bytes"] / found["wanted"]
    print(f"30 whole rows of file tiles: {found['requests']} requests, {rate:.2f} a MiB, {waste:.3f} of the bytes")
    for label, path in (("40,000 px", slide), ("100,000 px", giant)):
        _inspection(label, _child("inspection", "twice", path, url))


def _child(arm: str, how: str, slide: Path, url: str, *box: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.reading_arms", arm, how, str(slide), url, *map(str, box)]
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | keys)
    return json.loads(child.stdout.splitlines()[-1])


def _row(name: str, found: dict[str, Any]) -> dict[str, Any]:
    patches, wanted = found["patches"], found.get("wanted")
    line = f"{name:24} {patches / found['seconds']:8,.0f}  {patches / found['cpu']:9,.0f}"
    if wanted:
        line += f"  {found['requests']:8,}  {found['requests'] / (wanted / MIB):7.2f}"
        line += f"  {found['bytes'] / 1e6:7.0f}  {found['bytes'] / wanted:8.3f}x"
    else:
        line += " " * 39
    print(f"{line}  {found['peak'] / 1e6:7.0f}", flush=True)
    return found


def _compare(how: str, found: dict[str, dict[str, Any]]) -> None:
    rate = {arm: found[arm]["patches"] / found[arm]["seconds"] for arm in ARMS}
    best = max(rate["dataloader-1"], rate["dataloader-2"])
    apart = max(abs(found[arm]["mean"] - found["openslide"]["mean"]) for arm in ARMS)
    print(f"{how}: ours / best DataLoader {rate['ours'] / best:.1f}; means of the first patch {apart:.0e} apart")


def _inspection(name: str, found: dict[str, Any]) -> None:
    asked = f"{found['requests']} requests, {found['bytes'] / 1e6:.2f} MB"
    took = f"{found['seconds']:.2f} s, {found['cpu']:.1f} CPU s, peak {found['peak'] / 1e6:.0f} MB"
    again = f"; with its index {found['again']} requests, {found['again_seconds']:.2f} s" if "again" in found else ""
    print(f"inspection, {name}: {asked}, {took}{again}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] == ["one-level"])
