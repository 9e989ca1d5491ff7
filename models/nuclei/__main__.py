"""`python -m models.nuclei train PICTURES OUT`, `… measure PICTURES WEIGHTS`, `… export WEIGHTS OUT` and
`… draw SLIDE RESULTS OUT --place LEFT TOP WIDTH HEIGHT`: README.md beside this file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file

from models.nuclei.drawing import PixelRectangle, draw_outlines
from models.nuclei.exporting import make_graph
from models.nuclei.finding import find_nuclei, load_network
from models.nuclei.measuring import compare
from models.nuclei.pictures import QUADRANTS, Annotated, read_annotated
from models.nuclei.training import run_training

SEED, STEPS = 2026, 4000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m models.nuclei", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train")
    training.add_argument("pictures", type=Path)
    training.add_argument("out", type=Path)
    training.add_argument("--held-out", choices=[*QUADRANTS, "none"], default="bottom-right")
    training.add_argument("--steps", type=int, default=STEPS)
    training.add_argument("--seed", type=int, default=SEED)
    training.add_argument("--device", default="cuda")
    measuring = commands.add_parser("measure")
    measuring.add_argument("pictures", type=Path)
    measuring.add_argument("weights", type=Path)
    measuring.add_argument("--zeiss", type=Path, help="measure this network, and a watershed, beside it")
    exporting = commands.add_parser("export", help="write the weights as ONNX")
    exporting.add_argument("weights", type=Path)
    exporting.add_argument("out", type=Path)
    drawing = commands.add_parser("draw", help="write a PNG of a part of a slide, with the outlines of a run")
    drawing.add_argument("slide", type=Path)
    drawing.add_argument("results", type=Path, help="the folder that `tessera run --model nuclei` wrote")
    drawing.add_argument("out", type=Path)
    drawing.add_argument("--place", type=int, nargs=4, required=True, metavar=("LEFT", "TOP", "WIDTH", "HEIGHT"))
    asked = parser.parse_args()
    if asked.command == "draw":
        shown = draw_outlines(asked.slide, asked.results, asked.out, PixelRectangle(*asked.place))
        _say(f"{shown} outlines")
        return 0
    if asked.command == "export":
        asked.out.write_bytes(make_graph(load_network(asked.weights)).SerializeToString())
        return 0
    annotated = read_annotated(asked.pictures)
    if asked.command == "train":
        _train(annotated, asked)
    else:
        _measure(annotated, asked)
    return 0


def _train(annotated: Annotated, asked: argparse.Namespace) -> None:
    held_out = None if asked.held_out == "none" else QUADRANTS.index(asked.held_out)

    def tell(step: int, loss: float) -> None:
        _say(f"\rstep {step + 1} of {asked.steps}, loss {loss:.3f}", end="")

    network = run_training(
        annotated, held_out, steps=asked.steps, seed=asked.seed, device=torch.device(asked.device), tell=tell
    )
    _say("")
    state = {name: value.contiguous().cpu() for name, value in network.state_dict().items()}
    save_file({name: value for name, value in state.items() if value.is_floating_point()}, asked.out)


def _measure(annotated: Annotated, asked: argparse.Namespace) -> None:
    _tell_quadrants(annotated, "nuclei", find_nuclei(load_network(asked.weights), annotated.pixels))
    if asked.zeiss:
        from models.nuclei.baselines import compute_zeiss, find_by_watershed, find_in_zeiss

        for apart in (3, 5, 7):
            found = find_by_watershed(annotated.pixels, blur=1.0, apart=apart)
            _tell_quadrants(annotated, f"watershed of haematoxylin, {apart} px apart", found)
        chances = compute_zeiss(annotated.pixels, asked.zeiss)
        for apart in (5, 7, 9):
            found = find_in_zeiss(chances, threshold=0.2, apart=apart)
            _tell_quadrants(annotated, f"nuclei-zeiss, {apart} px apart", found)


def _tell_quadrants(annotated: Annotated, name: str, found: NDArray[np.int32]) -> None:
    for quadrant, where in enumerate(QUADRANTS):
        cut = annotated.cut(quadrant)
        _say(f"{name:<36} {where:<13} {compare(found[cut], annotated.nuclei[cut])}")


def _say(text: str, end: str = "\n") -> None:
    sys.stdout.write(text + end)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
