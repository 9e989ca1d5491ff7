"""Tiles a second from bytes to scores, next to the peers' way: `python -m benchmarks.tiles_per_second --device cuda`
(some minutes on a machine with a GPU; `--device cpu` for two cores and `stain-density`).

Four workloads (`benchmarks.workloads`), ResNet50 with seeded weights in fp16; each arm alone, in turn.
Ours reads byte ranges over HTTP from a server on this machine, through the worker's own engine. Needs torch,
torchvision and the wheels of `benchmarks/device.txt`, no network; neither boto3, psycopg nor imagecodecs.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch

from benchmarks import peers, peers_decode
from benchmarks.engine_arm import Ran, make_card, open_over_http, plan_slide, run
from benchmarks.workloads import DISTINCT, PATCHES, WORKLOADS, Workload, WorkloadSlide, write
from inference.models.loaded import LoadedModel
from tests.range_server import serve
from wsi.cores import count_available_cores
from wsi.models.builtin import STAIN_DENSITY
from wsi.slide.reads import ReadCounter

BATCH: Final = 256
CLASSES: Final = 1000
#: Patches that the peers' arms read by default: they are an order of magnitude slower.
PEERS: Final = 8_192
#: Rounds of all arms on the CPU, in turn; the best of each counts, since a shared machine is not steady.
ROUNDS: Final = 2
MB: Final = 1e6


def main(argv: Sequence[str] | None = None) -> None:
    asked = _parse_arguments(argv)
    names = torch.cuda.get_device_name(asked.device) if asked.device.startswith("cuda") else platform.processor()
    print(
        f"{names or platform.machine()}, {count_available_cores()} cores of {os.cpu_count()}, torch {torch.__version__}"
    )
    with tempfile.TemporaryDirectory() as name:
        for letter in asked.workloads.split(","):
            workload = WORKLOADS[letter]
            folder = Path(name) / letter
            folder.mkdir()
            slide = write(folder, workload, patches=asked.patches, distinct=asked.distinct)
            print(f"\n{letter}: {workload.title}; {len(slide.origins):,} patches, {slide.distinct:,} distinct tiles "
                  f"of {slide.mean_tile_bytes / 1000:.0f} KB")  # fmt: skip
            with serve(folder) as url:
                if asked.device == "cpu":
                    _on_cpu(slide, url, asked.peers)
                else:
                    _on_gpu(slide, url, asked)


def _on_gpu(slide: WorkloadSlide, url: str, asked: Any) -> None:
    device, workload = asked.device, slide.workload
    print(peers.HEAD)
    rates: dict[str, float] = {}
    if not asked.no_peers:
        arms: tuple[tuple[str, peers.How, peers.Infer], ...] = (
            ("fp32", "floats", peers.make_float_model(device, "fp32")),
            ("fp16", "floats", peers.make_float_model(device, "fp16")),
            ("uint8", "bytes", peers.make_byte_model(device)),
        )
        for name, how, infer in arms:
            took = peers.choose_fastest(partial(_peer, slide, asked.peers, how, infer, device))
            rates[name] = took.rate
            print(f"{took} ({name})", flush=True)
    model = _network(workload, device)
    sides: dict[str, Any] = {"batch": BATCH, "height": workload.patch, "width": workload.patch, "device": device}
    print(
        peers.run_model_alone(peers.make_byte_model(device), **sides, name="model alone, kernel by kernel, graph"),
        flush=True,
    )
    sides |= {"height": workload.box, "width": workload.box}
    alone = peers.run_model_alone(model.compute_on_device, **sides, name="model alone, as ours runs it")
    print(alone, flush=True)
    decoded = peers_decode.decode_alone(slide.path)
    decode = decoded.rate / workload.tiles_a_patch
    print(f"{f'decode alone, {decoded.processes} processes':44} {decode:10,.0f} "
          f"{decoded.cpu_seconds / decoded.tiles * workload.tiles_a_patch * 1000:10.2f}", flush=True)  # fmt: skip
    found = _ours(slide, url, model, device, twice=workload is WORKLOADS["A"], decoders=asked.decoders)
    limit = min(alone.rate, decode)
    ratios = ", ".join(f"{found.rate / rate:.1f} x {name}" for name, rate in rates.items())
    print(f"ours / min(model, decode) {found.rate / limit:.3f}; ours / peers {ratios or 'not run'}", flush=True)
    if workload is WORKLOADS["A"] and not asked.no_vit:
        _transformer(slide, url, device)


def _peer(
    slide: WorkloadSlide, patches: int, how: peers.How, infer: peers.Infer, device: str, workers: int
) -> peers.Took:
    return peers.run_loader(
        slide.path,
        slide.origins[:patches],
        box=slide.workload.box,
        patch=slide.workload.patch,
        how=how,
        workers=workers,
        infer=infer,
        device=device,
    )


def _network(workload: Workload, device: str) -> Any:
    """Return the peers' own network, as the worker runs networks."""
    from inference.models.execution.running import run_on

    card = make_card(workload.patch, 0.5, CLASSES, batch=BATCH, precision="fp16", mean=peers.MEAN, std=peers.DEVIATION)
    return run_on(torch.device(device), card, peers.make_network(device))


def _transformer(slide: WorkloadSlide, url: str, device: str) -> None:
    """Measure how busy the GPU is with ViT-L/16, which takes a fifteenth of the tiles that the decoders deliver."""
    from torchvision.models import vit_l_16

    from inference.models.execution.running import run_on

    torch.manual_seed(0)
    card = make_card(256, 0.5, CLASSES, batch=BATCH, precision="fp16", mean=peers.MEAN, std=peers.DEVIATION)
    model = run_on(torch.device(device), card, vit_l_16(weights=None, image_size=256))
    reads = ReadCounter()
    reader = open_over_http(slide, url, reads)
    plan = plan_slide(slide, reader, model.card)
    plan = replace(plan, shard_offsets=plan.shard_offsets[:4])  # three shards
    _print("ours, ViT-L/16", run([(plan, reader)], model, reads, device=device))


def _ours(
    slide: WorkloadSlide, url: str, model: LoadedModel, device: str, *, twice: bool, decoders: int | None = None
) -> Ran:
    reads = ReadCounter()
    reader = open_over_http(slide, url, reads)
    plan = plan_slide(slide, reader, model.card)
    found = run([(plan, reader)], model, reads, device=device, workers=decoders)
    _print("ours, from byte ranges", found)
    if twice:
        _print("ours, two slides back to back", run([(plan, reader)] * 2, model, reads, device=device))
    return found


def _print(name: str, found: Ran) -> None:
    print(f"{name:44} {found.rate:10,.0f} {1000 * found.cpu_seconds / found.cpu_patches:10.2f}")
    mb_per_second = found.bytes / MB / (found.cpu_patches / found.rate)
    print(
        f"    gpu_busy_ratio {found.busy:.4f}; padded {found.padded} of {found.rows} rows; "
        f"parent {found.parent_us:.1f} us CPU a tile; {mb_per_second:.0f} MB/s; "
        f"widest gap {found.widest_gap:.2f} batch times; steady {found.seconds:.1f} s; "
        f"besides ours, the range server's {found.served_us:.1f} us CPU a tile",
    )
    spent = ", ".join(f"{name} {each:.1f}" for name, each in sorted(found.threads.items()) if each >= 0.1)
    print(f"    us CPU a tile by thread: {spent}", flush=True)


def _on_cpu(slide: WorkloadSlide, url: str, patches: int) -> None:
    """Compare `stain-density` on this machine's cores with the peers' cheapest way: by CPU seconds, since another
    process can use the rest of a core. Their cheapest way is without workers, on one core."""
    from inference.models.registry import load_model

    torch.set_num_threads(1)  # two wait for each other in loops: 5.0 instead of 1.8 CPU s a thousand without workers
    workload = slide.workload
    card = replace(STAIN_DENSITY, tile_px=workload.patch, input_px=workload.patch, mpp=0.5)
    model = load_model(card, None, "cpu")
    print(peers.HEAD)

    def of_bytes(batch: Any) -> None:
        model.infer(batch.numpy(), None)  # pyright: ignore[reportArgumentType]  # it has no use for them

    arms: tuple[tuple[peers.How, peers.Infer], ...] = (("bytes", of_bytes), ("floats", peers.compute_stains))
    theirs: list[tuple[str, peers.Took]] = []
    ours: list[Ran] = []
    for _ in range(ROUNDS):
        for how, infer in arms:
            for workers in (0, 1, 2):
                took = peers.run_loader(
                    slide.path,
                    slide.origins[:patches],
                    box=workload.box,
                    patch=workload.patch,
                    how=how,
                    workers=workers,
                    infer=infer,
                    batch=32,
                )
                theirs.append((how, took))
                print(took, flush=True)
        ours.append(_ours(slide, url, model, "cpu", twice=False))
    least = min(1000 * each.cpu_seconds / each.cpu_patches for each in ours)
    ratios = {kind: min(took.cpu_seconds_a_thousand for how, took in theirs if how == kind) / least for kind, _ in arms}
    said = ", ".join(f"{ratio:.2f} to {kind}" for kind, ratio in ratios.items())
    fastest = max((took for _, took in theirs), key=lambda took: took.rate)
    by_clock = max(each.rate for each in ours) / fastest.rate
    print(f"ratio to peers: {min(ratios.values()):.2f} (by CPU seconds, to their cheapest way; {said})")
    print(f"to their fastest: {fastest.cpu_seconds_a_thousand / least:.2f} by CPU seconds, {by_clock:.2f} by the clock")


def _parse_arguments(argv: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="cuda", help="cpu, cuda or cuda:N")
    parser.add_argument("--workloads", default="A,B,C,D")
    parser.add_argument("--patches", type=int, default=PATCHES)
    parser.add_argument("--distinct", type=int, default=DISTINCT)
    parser.add_argument("--peers", type=int, default=PEERS, help="patches that the peers' arms read")
    parser.add_argument("--decoders", type=int, help="decode processes; all cores but two")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--no-vit", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
