"""The differences between cards and the same pipelines in plain code: `python -m benchmarks.fidelity SLIDE [MPP]`.

For each card of `tests.inference.fidelity` the slide goes through `tessera run` on the CPU, and the same tiles through
OpenSlide, PIL, numpy and torch. The network is small and random. Its last layer is multiplied by 200, so that a grey
value changes a probability. The output is a table in Markdown.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.inference.fidelity import CASES, OTHERS, compared


def main(slide: Path, mpp: float | None) -> None:
    print("| card | tiles | max difference of probabilities | mean | top-1 changes |\n|---|---|---|---|---|")
    for case in (*CASES, *OTHERS):
        with tempfile.TemporaryDirectory() as folder:
            found = compared(case, slide, Path(folder), mpp)
        print(
            f"| {case.name} | {found.tiles} | {found.furthest:.1e} | {found.mean:.1e} | {found.changed} |", flush=True
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else None)
