"""The numbers that a load of slides a day asks for: workers, calls at once, limits of requests, budget.

Each number has its formula and its source at its property. One that nobody measured says "assumed".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from adapters.settings.prices import DOLLARS_PER_GPU_HOUR, get_price
from adapters.settings.queues import WOKEN

DAY_SECONDS = 86_400
MONTH_DAYS = 30
#: Share of its time that a part works in the busiest hour; the rest absorbs arrivals that come together.
UTILISATION = 0.7

#: 30 % tissue of 100,000 x 80,000 px in tiles of 256 px (the example of docs/how-to/deploy.md).
TILES_A_SLIDE = 36_600
#: Of a GPU node. 36,600 tiles in the five minutes of that example, which include boot and idling. For
#: comparison: ViT-L/16 gives 2,445 on an H100 (benchmarks/README.md), whose fp16 rate is 15 times that of the smallest
#: card here, a T4 (989 and 65 TFLOP/s in NVIDIA's data sheets): 160.
TILES_A_GPU_SECOND = 122.0
#: The busiest hour to the mean of all 24: a laboratory that scans in a third of the day, unevenly. Assumed.
PEAK_FACTOR = 4.0

#: wsi/planning/shards.py, which the CDK does not import; a test compares them.
SHARD_SECONDS, LEAST_SHARD_TILES, MOST_SHARD_TILES = 60, 1_024, 8_192

#: s of a call of each function in the mean, from which calls at once follow (Little's law). Measured and rounded up, on
#: two busy cores (benchmarks/README.md, "A slide through the functions"): compare them with CloudWatch after a week.
#: inspect: 1.9 s a slide with overviews (`benchmarks.preparing`). One without must be read as a whole, 2.3 GB of
#: 152,881 tiles in up to 30 s at 75 MB/s; that rate, and that one slide in fifty is so, are assumed.
#: plan: 0.7 to 1.6 s for 37,409 tiles (`benchmarks.preparing`). stitch: 2.2 to 2.9 s for 100,000 tiles
#: (`benchmarks.stitching`). notify: assumed.
SECONDS_A_CALL: Mapping[str, float] = MappingProxyType({"inspect": 3.0, "plan": 2.0, "stitch": 3.0, "notify": 5.0})
#: s in which one run of the relay sends a row: 534 updates a second, 25 ms a call (benchmarks/README.md, "The relay").
SECONDS_A_ROW = 1 / 534
#: Lambda refuses a larger bound of a queue's function, and one below 2.
MOST_AT_ONCE, LEAST_AT_ONCE = 1_000, 2

#: Of slides that a function cannot plan in its time or disk, and s of such a plan: 8 GB are copied and read by
#: OpenSlide. Assumed.
HEAVY_SHARE, HEAVY_SECONDS = 0.02, 600
#: The least is enough for a laboratory; the most leaves one spare node of the system group's 100.
LEAST_HEAVY_WORKERS, MOST_HEAVY_WORKERS = 4, 99

#: Requests that begin work, of a slide: begin, three for 256 parts of 16 MiB (4 GB; 100 parts a request), complete,
#: and one job.
BEGINNING_REQUESTS = 6
#: Of a slide in all: those, its states, its results (20), and 300 tiles for a person who looks at it once. Assumed.
REQUESTS = 320
REQUEST_SECONDS = 0.1  #: of an invocation behind the gateway (benchmarks/README.md: p99 of tiles is 79 to 97 ms)
#: Requests a second of all callers, and those that begin work of one credential in a minute, however small the load is.
LEAST_REQUEST_RATE, LEAST_BEGINNING_LIMIT = 2_000, 600
#: Of one account in a region, over all its gateways (Amazon API Gateway quotas, 2026). The burst cannot be raised.
MOST_REQUEST_RATE, MOST_REQUEST_BURST = 10_000, 5_000

GIGABYTES_A_SLIDE = 4.0  #: that example again


@dataclass(frozen=True, kw_only=True, slots=True)
class Scale:
    """A load, and what it asks for."""

    slides_a_day: int
    tiles_a_slide: int = TILES_A_SLIDE
    tiles_a_gpu_second: float = TILES_A_GPU_SECOND
    peak_factor: float = PEAK_FACTOR  #: the busiest hour to the mean hour
    dollars_a_gpu_hour: float = DOLLARS_PER_GPU_HOUR
    idle_dollars_a_month: int = 900  #: what the installation costs without a slide (`tessera admin cost`)

    @property
    def peak_slides_a_second(self) -> float:
        """Slides a day / 86,400 x peak factor: in the busiest hour."""
        return self.slides_a_day / DAY_SECONDS * self.peak_factor

    @property
    def gpu_seconds_a_slide(self) -> float:
        """Tiles a slide / tiles a second of a GPU."""
        return self.tiles_a_slide / self.tiles_a_gpu_second

    @property
    def shards_a_slide(self) -> int:
        """The planner's: shards of a minute of the GPU, within its limits of tiles."""
        size = min(MOST_SHARD_TILES, max(LEAST_SHARD_TILES, round(self.tiles_a_gpu_second * SHARD_SECONDS)))
        return math.ceil(self.tiles_a_slide / size)

    @property
    def gpu_workers(self) -> int:
        """GPUs that the busiest hour keeps at work (Little's law): slides a second x GPU seconds a slide.

        No headroom is added: shards wait in the queue, and the GPU seconds include boot and idling.
        """
        return max(1, math.ceil(self.peak_slides_a_second * self.gpu_seconds_a_slide))

    def compute_concurrency(self, queue: str) -> int:
        """Return the calls at once of the function that `queue` wakes: arrivals a second x seconds a call /
        utilisation, never fewer than the table of queues says and never more than Lambda takes."""
        work = self._relay_work if queue == "wake" else self.peak_slides_a_second * SECONDS_A_CALL[queue]
        return min(MOST_AT_ONCE, max(LEAST_AT_ONCE, WOKEN[queue].at_once, math.ceil(work / UTILISATION)))

    @property
    def outbox_rows_a_slide(self) -> int:
        """A message and a push of progress for each shard; inspect, plan, stitch, notify; and a push of five states."""
        return 2 * self.shards_a_slide + 9

    @property
    def outbox_rows_a_second(self) -> float:
        """Rows that the relay must send in the busiest hour."""
        return self.peak_slides_a_second * self.outbox_rows_a_slide

    @property
    def _relay_work(self) -> float:
        return self.outbox_rows_a_second * SECONDS_A_ROW

    @property
    def heavy_workers(self) -> int:
        """Slides a second x their heavy share x seconds of such a plan / utilisation."""
        work = self.peak_slides_a_second * HEAVY_SHARE * HEAVY_SECONDS
        return min(MOST_HEAVY_WORKERS, max(LEAST_HEAVY_WORKERS, math.ceil(work / UTILISATION)))

    @property
    def system_nodes(self) -> int:
        """One for each heavy plan, since a node has room for one next to the controllers, and a spare one."""
        return self.heavy_workers + 1

    @property
    def request_rate(self) -> int:
        """Requests a second that the gateway lets through: slides a second x requests a slide / utilisation, in
        hundreds, within what an account has."""
        asked = _round_up(self.peak_slides_a_second * REQUESTS / UTILISATION, 100)
        return min(MOST_REQUEST_RATE, max(LEAST_REQUEST_RATE, asked))

    @property
    def request_burst(self) -> int:
        """Two seconds of the rate, within what an account has."""
        return min(MOST_REQUEST_BURST, 2 * self.request_rate)

    @property
    def beginning_limit(self) -> int:
        """Requests a minute by which one credential may begin work. One scanner's service may send all slides."""
        asked = self.peak_slides_a_second * BEGINNING_REQUESTS * 60 / UTILISATION
        return max(LEAST_BEGINNING_LIMIT, _round_up(asked, 100))

    @property
    def credential_limit(self) -> int:
        """Requests a minute of one credential: twenty times those that begin work."""
        return 20 * self.beginning_limit

    @property
    def lambda_concurrency(self) -> int:
        """Calls at once of all functions: those behind queues, those behind the gateway, and the scheduled two."""
        behind_queues = sum(self.compute_concurrency(queue) for queue in WOKEN)
        return behind_queues + math.ceil(self.peak_slides_a_second * REQUESTS * REQUEST_SECONDS / UTILISATION) + 2

    @property
    def budget_dollars_a_month(self) -> int:
        """Idle costs, the slides' GPU hours, and the first month's storage, half of it since slides arrive one by one;
        in hundreds. Later months add the originals that stay."""
        slides = self.slides_a_day * MONTH_DAYS
        gpu = slides * self.gpu_seconds_a_slide / 3_600 * self.dollars_a_gpu_hour
        storage = slides * GIGABYTES_A_SLIDE * get_price("S3 Standard").dollars / 2
        return _round_up(self.idle_dollars_a_month + gpu + storage, 100)


def _round_up(value: float, step: int) -> int:
    return math.ceil(value / step) * step
