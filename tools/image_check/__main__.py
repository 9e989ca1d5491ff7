"""`make image-check`: build gpu_worker/Dockerfile, print its layers, and analyse one slide with a worker of the image.

    python -m tools.image_check                 the image as it is deployed; takes 20 GB of disk with
                                               STORAGE_DRIVER=overlay, more without (decision 103)
    python -m tools.image_check --without-cuda  without CUDA's libraries and torch: 5 GB of disk, some minutes

It needs root, buildah and debootstrap, and no docker. Its base is made from Debian's packages, since a machine that
reaches package indexes alone can pull no image: it is like the one that the Dockerfile names, and not the same.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from local.demo import DENSITY, analyse_slide
from local.options import StackOptions
from local.sample_slide import fetch_sample_slide
from local.stack import Stack
from local.workers import make_worker_settings
from tools.base_digest import read_base
from tools.image_check.buildah import Buildah, BuildahFailed
from tools.image_check.container import USER, WorkerContainer
from tools.locks.entries import ROOT
from tools.locks.worker import HEADER

IMAGE = "tessera-worker"
FOLDER = ROOT / ".tessera/image-check"
MB = 1_000_000
WITHOUT_CUDA = "--without-cuda"


def check_image(console: Console, *, without_cuda: bool) -> bool:
    """Build the image, run it, and return whether the slide's job completed and the worker ended well."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    buildah, base = Buildah(FOLDER), read_base()
    if not buildah.has_image(base):
        buildah.make_base(base, read_suite(base))
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        context = make_context(Path(folder), without_cuda=without_cuda)
        buildah.build(IMAGE, context=context, dockerfile=context / "gpu_worker/Dockerfile")
    layers = buildah.list_layers(IMAGE)
    for layer in layers:
        console.print(f"{layer.bytes / MB:>8,.1f} MB  {' '.join(layer.made_by.split())[:100]}")
    console.print(f"{sum(layer.bytes for layer in layers) / MB:>8,.1f} MB  all layers, unpacked")
    if without_cuda:
        console.print("CUDA's libraries and torch were left out: this shows nothing of them.")
    return _run_worker(buildah, console)


def _run_worker(buildah: Buildah, console: Console) -> bool:
    began = time.monotonic()
    slide = fetch_sample_slide(FOLDER / "cache")
    name = buildah.run("from", "--pull-never", IMAGE)
    stack = Stack(FOLDER / "stack", StackOptions(workers=0, durable=False))
    try:
        stack.start()
        here = {"device": "cpu", "model_cache": "/scratch/models", "scratch": "/scratch/slides"}
        worker = WorkerContainer(
            Path(buildah.run("mount", name)),
            FOLDER / "scratch",
            buildah.read_config(IMAGE),
            {**stack.credentials, **make_worker_settings(stack.addresses, here).make_environ()},
        )
        worker.start(FOLDER / "worker.log")
        try:
            is_completed = analyse_slide(stack.as_json(), slide, FOLDER, console, began, models=(DENSITY,))
            user = worker.read_user()
        finally:
            code = worker.stop()
    finally:
        stack.stop()
        buildah.run("rm", name)
    console.print(f"worker   user {user} on a read-only root, ended with {code} after SIGTERM; {FOLDER / 'worker.log'}")
    return is_completed and user == USER and code == 0


def make_context(folder: Path, *, without_cuda: bool) -> Path:
    """Copy what the image takes; without CUDA the locks of two layers are empty."""
    code = shutil.ignore_patterns("__pycache__")
    for package in ("wsi", "adapters", "inference", "gpu_worker"):
        shutil.copytree(ROOT / package, folder / package, ignore=code)
    shutil.copy(ROOT / ".dockerignore", folder)
    for part in ("cuda", "torch") if without_cuda else ():
        (folder / f"gpu_worker/locks/{part}.lock").write_text(HEADER)
    return folder


def read_suite(base: str) -> str:
    """Return the release of Debian that the base is made of."""
    [suite] = re.findall(r"-slim-([a-z]+)$", base)
    return suite


def main(arguments: list[str]) -> int:
    if set(arguments) - {WITHOUT_CUDA}:
        sys.stderr.write(__doc__ or "")
        return 2
    missing = [command for command in ("buildah", "debootstrap") if not shutil.which(command)]
    if missing or os.geteuid():
        sys.stderr.write("The check runs as root with buildah and debootstrap: apt-get install buildah debootstrap\n")
        return 2
    try:
        is_well = check_image(Console(highlight=False, soft_wrap=True), without_cuda=WITHOUT_CUDA in arguments)
    except BuildahFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
