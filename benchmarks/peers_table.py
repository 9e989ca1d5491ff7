"""`python -m benchmarks.peers_table --device cuda [--workloads ABCD] [--patches 20000]`: the peers' ways and the parts
of any way alone, one table per workload. Some three minutes a workload with a GPU; on the CPU give few patches."""

from __future__ import annotations

import argparse
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks import peers, peers_decode
from benchmarks.workloads import DISTINCT, WORKLOADS, WorkloadSlide, write


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--workloads", default="ABCD")
    parser.add_argument("--patches", type=int, default=20_000, help="a run of a DataLoader")
    parser.add_argument("--workers", type=int, nargs="+", default=list(peers.WORKERS))
    parser.add_argument("--batch", type=int, default=peers.BATCH)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 256, 512], help="batches of the model alone")
    parser.add_argument("--distinct", type=int, default=DISTINCT)
    chosen = parser.parse_args()
    on_gpu = chosen.device.startswith("cuda")
    name = torch.cuda.get_device_name(chosen.device) if on_gpu else "CPU"
    print(f"{name}, {os.cpu_count()} cores, torch {torch.__version__}, load {os.getloadavg()[0]:.1f}")
    for letter in chosen.workloads:
        with tempfile.TemporaryDirectory() as folder:
            slide = write(Path(folder), WORKLOADS[letter], patches=chosen.patches, distinct=chosen.distinct)
            _table(letter, slide, chosen)


def _table(letter: str, slide: WorkloadSlide, chosen: Any) -> None:
    workload, device = slide.workload, chosen.device
    print(f"\n{letter}: {workload.title}; {slide.distinct} distinct tiles of {slide.mean_tile_bytes / 1e3:.1f} KB")
    print(peers.HEAD)
    arm = partial(
        peers.run_loader,
        slide.path,
        slide.origins[: chosen.patches],
        box=workload.box,
        patch=workload.patch,
        device=device,
        batch=chosen.batch,
    )
    ways: list[tuple[peers.How, str, peers.Infer]] = [("floats", "fp32", peers.make_float_model(device, "fp32"))]
    if device.startswith("cuda"):
        ways.append(("floats", "fp16", peers.make_float_model(device, "fp16")))
    ways.append(("bytes", "normalised on the device", peers.make_byte_model(device)))
    for how, precision, infer in ways:
        named = partial(_run_arm, arm, how=how, infer=infer, precision=precision)
        print(peers.choose_fastest(named, chosen.workers), flush=True)
    side = workload.patch
    for batch in chosen.sizes:
        print(peers.run_model_alone(ways[-1][2], batch=batch, height=side, width=side, device=device), flush=True)
    for title, make in (("ours", peers_decode.make_tessera_decode), ("OpenSlide", peers_decode.make_openslide_decode)):
        found = peers_decode.decode_alone(slide.path, make=make)
        rate, cpu = found.rate / workload.tiles_a_patch, 1000 * found.cpu_seconds / found.tiles * workload.tiles_a_patch
        print(f"{f'decode alone, {title}, {found.processes} processes':56} {rate:10,.0f} {cpu:10.2f}", flush=True)


def _run_arm(arm: Any, workers: int, *, how: peers.How, infer: peers.Infer, precision: str) -> peers.Took:
    return arm(how=how, infer=infer, workers=workers, name=f"DataLoader, {how}, {precision}, {workers} workers")


if __name__ == "__main__":
    main()
