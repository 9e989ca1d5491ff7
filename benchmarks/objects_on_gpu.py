"""A million nuclei from byte ranges to objects.geojson.gz: `python -m benchmarks.objects_on_gpu SLIDE --device cuda`.

SLIDE is a small slide of square JPEG tiles, such as CMU-1-Small-Region.svs, whose tissue is repeated over `--side` px.
The built-in model `nuclei` runs over it as `tessera run` runs it, with windows of each of `--windows` px: the smaller
ones compute more px twice. Beside it: the same network over the same windows with nothing else to do, as the worker
runs it (maps copied back) and alone on the device with other settings of cuDNN, and extraction on one core.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import describe_machine
from benchmarks.repeated_slide import write_repeated
from benchmarks.timed_run import TimedRun, check_modules, list_foreign_modules, measure_run
from inference.models.loaded import DenseModel
from wsi.models.builtin import NUCLEI
from wsi.numerics import NUMERICS_VERSION
from wsi.objects.extracting import extract_objects
from wsi.objects.window import WindowGrid
from wsi.planning.plan import Numerics
from wsi.records.model_card import ModelCard

SIDE: Final = 48_000  #: px of the slide
SECONDS: Final = 3.0  #: of each measurement beside the run
BATCH_PX: Final = NUCLEI.batch * NUCLEI.input_px**2  #: px of a batch, whatever its windows' side
NEEDED: Final = ("PIL", "imagecodecs", "numpy", "pyarrow", "safetensors", "scipy", "simplejpeg", "tifffile", "torch")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("slide", type=Path)
    parser.add_argument("--device", default="cuda", help="cpu, cuda or cuda:N")
    parser.add_argument("--side", type=int, default=SIDE)
    parser.add_argument("--windows", type=int, nargs="*", default=[1024, 1536, 2048])
    parser.add_argument("--other-side", type=int, help="px of the slide of all windows but the first; else as `--side`")
    parser.add_argument("--batch-px", type=int, default=BATCH_PX)
    parser.add_argument("--decoders", type=int, help="decode processes; all cores but one")
    parser.add_argument("--alone-seconds", type=float, default=SECONDS)
    parser.add_argument("--no-settings", action="store_true", help="do not try other settings of cuDNN")
    given = parser.parse_args(argv)
    check_modules(*NEEDED)
    from inference.models.registry import load_model

    print(describe_machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, side in enumerate(given.windows):
            slide = write_slide(folder, given.slide, (number and given.other_side) or given.side)
            card = make_card(side, given.batch_px)
            model = load_model(card, None, given.device)
            assert isinstance(model, DenseModel)
            found = measure_run(
                slide, folder / f"out-{side}", card, model, device=given.device, decoders=given.decoders
            )
            print_run(side, card, found, count_objects(folder / f"out-{side}"))
            print_alone(slide, card, model, found, given.alone_seconds)
            if not given.no_settings:
                print_settings(card, given.device, given.alone_seconds)
    print(f"modules: {', '.join(list_foreign_modules())}")


def write_slide(folder: Path, small: Path, side: int) -> Path:
    """Write a slide of `side` px unless it is there."""
    path = folder / f"{side}.svs"
    if not path.exists():
        began = time.perf_counter()
        write_repeated(path, small, side)
        print(
            f"slide of {side:,} px, {path.stat().st_size / 1e6:,.0f} MB: {time.perf_counter() - began:.1f} s to write"
        )
    return path


def make_card(side: int, batch_px: int) -> ModelCard:
    """Return the card of `nuclei` with windows of `side` px, in batches of at most so many px."""
    return replace(NUCLEI, tile_px=side, input_px=side, batch=max(1, batch_px // side**2))


def count_objects(out: Path) -> int:
    """Return the number of objects in the file, which must be that of the summary."""
    found = json.loads((out / "summary.json").read_text())["objects"]["found"]
    features = 0
    with gzip.open(out / "objects.geojson.gz") as file:
        for block in iter(lambda: file.read(1 << 24), b""):
            features += block.count(b"\n")
    assert features - 2 == found, (features, found)  # a line each, and two behind them
    return found


def print_run(side: int, card: ModelCard, found: TimedRun, objects: int) -> None:
    sizes = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in found.sizes.items() if size > 1e5)
    print(
        f"\nwindows of {side} px, batches of {card.batch}: {objects:,} objects in {found.ended:.1f} s from start to"
        f" file, {objects / found.ended:,.0f} a second; network {found.last - found.planned:.1f} s,"
        f" stitching {found.ended - found.last:.1f} s\n  {found.describe()}\n    {sizes}",
        flush=True,
    )


def print_alone(slide: Path, card: ModelCard, model: DenseModel, found: TimedRun, seconds: float) -> None:
    """Print the rate of the network as the worker calls it, and that of extraction from what it gives."""
    pixels = read_windows(slide, card)
    numerics = Numerics(version=NUMERICS_VERSION, precision=card.precision, batch=card.batch, threads=1)
    maps = model.infer_maps(pixels, numerics)
    rate = card.batch * measure_rate(lambda: model.infer_maps(pixels, numerics), seconds)
    print(
        f"  network alone, maps copied back: {rate:,.1f} tiles/s ({card.input_px**2 * rate / 1e6:,.0f} Mpx/s);"
        f" the run's steady part has {found.steady / rate:.3f} of it"
    )
    objects, spent = 0, 0.0
    assert card.objects is not None
    kept = card.input_px - 2 * card.objects.halo
    grid = WindowGrid.of(card.objects, kept_x=kept, kept_y=kept, slide_x=9 * kept, slide_y=9 * kept)
    for row in maps:
        began = time.process_time()
        objects += len(extract_objects(row, grid.place_window(1, 1), card.objects, 0).table)
        spent += time.process_time() - began
    print(f"  extraction on one core: {objects / spent:,.0f} objects/s, {len(maps) / spent:,.1f} tiles/s", flush=True)


def read_windows(slide: Path, card: ModelCard) -> NDArray[np.uint8]:
    """Return a batch of windows from the slide's beginning, side by side in a row."""
    import tifffile

    side = card.input_px
    with tifffile.TiffFile(slide) as file:
        page: Any = file.pages[0]
        tile, across = page.tilewidth, -(-page.imagewidth // page.tilewidth)
        offsets, counts = page.dataoffsets, page.databytecounts
    from wsi.slide.opening import open_local_source, open_slide
    from wsi.slide.slide import EncodedTile

    reader, data = open_slide(open_local_source(slide)), np.memmap(slide, np.uint8, "r")
    reach = -(-side // tile)
    columns = min(reach * card.batch, across)
    strip = np.zeros((reach * tile, columns * tile, 3), np.uint8)
    for row in range(min(reach, across)):
        for column in range(columns):
            at = row * across + column
            encoded = bytes(data[offsets[at] : offsets[at] + counts[at]])
            decoded = reader.decode(EncodedTile(0, at, (encoded,)), 1, 255)
            strip[row * tile : (row + 1) * tile, column * tile : (column + 1) * tile] = decoded
    reader.close()
    starts = [number * side % max(1, columns * tile - side + 1) for number in range(card.batch)]
    return np.stack([strip[:side, start : start + side] for start in starts])


def print_settings(card: ModelCard, device: str, seconds: float) -> None:
    """Print the rate of the network on the device alone, nothing copied, by what cuDNN and torch may choose."""
    import torch
    from safetensors.torch import load_file

    from inference.models.builtin.nuclei import WEIGHTS, WIDTHS
    from inference.models.dense.unet import UNet
    from inference.models.execution.devices import prepare_device

    assert card.objects is not None
    chosen = prepare_device(device)
    module: Any = UNet(WIDTHS, card.objects.maps)
    module.load_state_dict(load_file(WEIGHTS), strict=False)
    module = module.eval().to(chosen)
    planes = torch.rand(card.batch, 3, card.input_px, card.input_px, device=chosen)
    reference: Any = None
    for name, form, network, rules in _list_settings(module, planes):
        with torch.inference_mode():
            prepared = network.to(memory_format=form)
            given = planes.to(torch.float16 if "fp16" in name else torch.float32).contiguous(memory_format=form)
            for rule, value in rules.items():
                setattr(torch.backends.cudnn, rule, value)
            output = prepared(given).float()
            reference = output if reference is None else reference
            apart = float((torch.sigmoid(output) - torch.sigmoid(reference)).abs().max())

            def run(prepared: Any = prepared, given: Any = given) -> None:
                prepared(given)
                if chosen.type == "cuda":
                    torch.cuda.synchronize(chosen)

            rate = card.batch * measure_rate(run, seconds)
        prepare_device(device)
        print(f"    {name:50} {rate:9,.1f} tiles/s, probabilities {apart:.1e} apart from the first", flush=True)


def _list_settings(module: Any, planes: Any) -> Iterator[tuple[str, Any, Any, dict[str, bool]]]:
    """Yield a name, a memory format, a network and values of `torch.backends.cudnn` of each way to run it."""
    import copy

    import torch

    from inference.models.execution.fusing import fuse_layers

    last, plain = torch.channels_last, torch.contiguous_format
    free = {"benchmark": True, "deterministic": False}
    yield "channels last, as the worker runs it", last, copy.deepcopy(module), {}
    yield "channels last, kernels tried", last, copy.deepcopy(module), free
    yield "contiguous", plain, copy.deepcopy(module), {}
    yield "contiguous, kernels tried", plain, copy.deepcopy(module), free
    yield "contiguous, deterministic kernels tried", plain, copy.deepcopy(module), {"benchmark": True}
    example = planes[:1]
    yield "contiguous, normalisation folded", plain, fuse_layers(copy.deepcopy(module), example), {}
    yield "channels last, TF32", last, copy.deepcopy(module), {"allow_tf32": True}
    if planes.device.type == "cuda":
        yield "channels last, fp16", last, copy.deepcopy(module).half(), {}
        folded = fuse_layers(copy.deepcopy(module).half(), example.half().contiguous(memory_format=last))
        yield "channels last, fp16, normalisation folded", last, folded, {}


def measure_rate(call: Callable[[], object], seconds: float) -> float:
    """Return how often `call` ends a second, after two calls that are not counted."""
    for _ in range(2):
        call()
    began, calls = time.perf_counter(), 0
    while (taken := time.perf_counter() - began) < seconds or not calls:
        call()
        calls += 1
    return calls / taken


if __name__ == "__main__":
    main(sys.argv[1:])
