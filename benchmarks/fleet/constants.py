"""The one table of the simulation's constants, each with its source. A newer measurement is a change here.

Numbers that the stacks deploy are not here: they are read from adapters/settings and cdk/scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from adapters.settings.cold_start import PARTS
from benchmarks.keda_scaling.spreads import Mostly, Skewed, Spread
from cdk.scale.load import HEAVY_SECONDS, HEAVY_SHARE, SECONDS_A_CALL, TILES_A_SLIDE
from tessera.api.submission import INSPECTION_PAUSE


@dataclass(frozen=True, slots=True)
class Constant:
    """A number of the model: fixed, or drawn each time. `source` says where it comes from, or "assumed"."""

    value: float | Spread
    unit: str
    source: str

    @property
    def number(self) -> float:
        if not isinstance(self.value, int | float):
            raise TypeError("this constant is drawn each time")
        return self.value

    @property
    def spread(self) -> Spread:
        return Mostly(self.value, self.value, 0) if isinstance(self.value, int | float) else self.value

    def describe(self) -> str:
        """Return value and unit."""
        match self.value:
            case Skewed(p50, p90):
                return f"{p50:,g} {self.unit}, p90 {p90:,g}"
            case Mostly(usual, rare, share):
                return f"{usual:g} {self.unit}, and {rare:g} for {share:.0%}"
            case int() | float() as number:
                return f"{number:,g} {self.unit}".rstrip()
            case _:
                raise TypeError("this spread has no description")


def _sum_parts(*begins: str) -> Skewed:
    """Sum parts of the cold start. Their p90 are not added: they are independent, so their distances from the p50 add
    up as squares."""
    parts = [part for part in PARTS if part.name.startswith(begins)]
    return Skewed(
        round(sum(part.p50 for part in parts), 1),
        round(sum(part.p50 for part in parts) + math.hypot(*(part.p90 - part.p50 for part in parts)), 1),
    )


_ADDENBROOKES = (
    "[histopath-bim-des](https://github.com/yinchi/histopath-bim-des), `assets/config_base.xlsx`: the laboratory of"
    " Addenbrooke's Hospital"
)
_GRANADA = (
    "[Granada](https://meridian.allenpress.com/aplm/article/144/2/221/433661/Complete-Digital-Pathology-for-Routine):"
    " 800,000 slides of 2016 to 2019, some 900 working days"
)
_RELAY = "measured: `benchmarks.relay`"
#: Not the first calls, whose surplus is the cold start.
_PREPARING = "measured: `benchmarks.preparing`, at a load of 5.6"
_STITCHING = "measured: `benchmarks.stitching`, 100,000 tiles, the fastest at a load of 5"
_SINGLE_LEVEL = "the rare one, without overviews, and its share are those of `cdk/scale/load.py`"
_COLD_START = "`benchmarks.cold_start`"
_ASSUMED = "assumed"

CONSTANTS: Mapping[str, Constant] = MappingProxyType(
    {
        # --- labs
        "slides of a lab": Constant(1_000, "slides a day", _GRANADA),
        "a lab begins": Constant(9, "h", f"{_ADDENBROOKES}: first hour of microtomy"),
        "labs begin apart": Constant(1, "h before or after at most", _ASSUMED),
        "scanners of a lab": Constant(5, "scanners", _ADDENBROOKES),
        "slides of a batch": Constant(150, "slides at most", _ADDENBROOKES),
        "a batch is scanned": Constant(40 * 60, "s", f"{_ADDENBROOKES}: 35 to 45 min"),
        "a batch is loaded and unloaded": Constant(8 * 60, "s", f"{_ADDENBROOKES}: 3 to 5 min each"),
        # --- slides
        "tiles of a slide": Constant(
            Skewed(round(TILES_A_SLIDE * 0.76), round(TILES_A_SLIDE * 1.95)),
            "tiles",
            f"mean {TILES_A_SLIDE:,}: the example of docs/how-to/deploy.md; its spread is assumed",
        ),
        "heavy plans": Constant(HEAVY_SHARE, "of slides", "assumed: `cdk/scale/load.py`"),
        # --- functions and the relay
        "inspect": Constant(Mostly(1.9, 30.0, HEAVY_SHARE), "s", f"{_PREPARING}; {_SINGLE_LEVEL}"),
        "plan": Constant(1.2, "s", _PREPARING),
        "stitch": Constant(2.2, "s", _STITCHING),
        "notify": Constant(SECONDS_A_CALL["notify"], "s", "assumed: `cdk/scale/load.py`"),
        "heavy": Constant(HEAVY_SECONDS, "s", "assumed: `cdk/scale/load.py`"),
        "cold start of a function": Constant(
            0.76, "s", "measured: import of a handler, the slowest (benchmarks/README.md)"
        ),
        "a message reaches its function": Constant(0.025, "s", "assumed, as in `benchmarks.relay`: 25 ms a call"),
        "functions at first": Constant(
            5, "calls at once", "[AWS](https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html)"
        ),
        "functions more": Constant(
            300, "calls at once a min", "[AWS](https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html)"
        ),
        "rows of a relay's round": Constant(400, "rows", "`wsi/notices/outbox.py`"),
        "a relay's claim": Constant(0.061, "s a round", _RELAY),
        "a relay's record": Constant(0.039, "s a round", _RELAY),
        "a relay sends": Constant(534, "rows a s", _RELAY),
        "a client's look at its slide": Constant(INSPECTION_PAUSE, "s apart", "`tessera/api/submission.py`"),
        "request to the API": Constant(0.1, "s", "measured: p99 of tiles (benchmarks/README.md)"),
        # --- workers
        "tiles of a GPU": Constant(
            160,
            "tiles a s",
            "ViT-L/16 measured on an H100 (2,445) x 65 / 989 TFLOP/s of fp16 of a T4, the smallest card (data sheets)",
        ),
        "boot of a node": Constant(
            _sum_parts("the autoscaler waits", "node", "image"), "s", f"{_COLD_START}: its wait, node and image"
        ),
        "start of a worker": Constant(
            _sum_parts("process", "package", "model", "first").p50, "s", f"{_COLD_START}: process, package and model"
        ),
        "spot node lives": Constant(
            730,
            "h on average",
            "[5 to 10 %](https://www.thundercompute.com/blog/cloud-gpu-spot-instance-availability) of L4 nodes are"
            " interrupted in a month, 7,300 h; a tenth of it, to be cautious",
        ),
        "refusal of spot": Constant(60, "s until on demand is asked", _ASSUMED),
    }
)


def get_number(name: str) -> float:
    """Return a constant that is fixed. Raises KeyError, and TypeError for one that is drawn."""
    return CONSTANTS[name].number
