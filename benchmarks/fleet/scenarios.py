"""The days that are simulated: five loads with the limits that they derive, and what-ifs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from adapters.settings import scaling
from benchmarks.fleet.arrivals import draw_day, draw_night
from benchmarks.fleet.constants import CONSTANTS, get_number
from benchmarks.fleet.functions import FunctionTerms
from benchmarks.fleet.limits import MOST_GPU_NODES, FleetLimits, derive_limits
from benchmarks.fleet.outbox import RelayTerms
from benchmarks.fleet.outcome import FleetOutcome, merge_days, summarise
from benchmarks.fleet.platform import (
    HEAVY,
    INSPECT,
    NOTIFY,
    PLAN,
    STITCH,
    OnProgress,
    PlatformTerms,
    SimulatedPlatform,
    ignore_progress,
)
from benchmarks.fleet.slides import SimulatedSlide
from benchmarks.keda_scaling.scenarios import CHOSEN

SEED = 1
LOADS = (10, 100, 1_000, 10_000, 100_000)
#: A node group of as many nodes as 100,000 slides ask for: EKS' quota raised, and MOST_GPU_NODES with it.
RAISED_NODES = 2_000
#: UTC, as `warm_hours` of the preset prod.
WARM_HOURS = (7 * 3600.0, 19 * 3600.0)
PEAK = 15 * 3600.0  #: of the labs' day: microtomy works at full staff, and scanners are loaded


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetDay:
    """A day: its slides, and what differs from a deployment of that load."""

    name: str
    slides: int
    most_nodes: int = MOST_GPU_NODES  #: of a node group
    spot_nodes: int | None = None  #: that spot has capacity for
    on_demand_nodes: int | None = None
    warm_nodes: int = 0  #: in working hours
    arrive: Callable[[int, random.Random], list[float]] = field(default=draw_day)
    loses_share_at: tuple[float, float] | None = None
    calls_of: int | None = None  #: slides a day that the functions' calls at once are derived for instead

    @property
    def limits(self) -> FleetLimits:
        derived = derive_limits(self.slides, most_nodes=self.most_nodes)
        calls = derived.calls if self.calls_of is None else derive_limits(self.calls_of).calls
        return replace(
            derived,
            calls=calls,
            spot_nodes=derived.spot_nodes if self.spot_nodes is None else self.spot_nodes,
            on_demand_nodes=derived.on_demand_nodes if self.on_demand_nodes is None else self.on_demand_nodes,
        )


#: A load is simulated for as many days as it takes to have so many slides: percentiles of ten are none.
LEAST_SLIDES = 1_000

AS_DEPLOYED = tuple(FleetDay(name=f"{load:,}", slides=load) for load in LOADS)
RAISED = FleetDay(name="100,000, node groups raised", slides=100_000, most_nodes=RAISED_NODES)
WHAT_IFS: Sequence[FleetDay] = (
    FleetDay(name="10,000, as deployed", slides=10_000),
    FleetDay(name="10,000, ten warm nodes", slides=10_000, warm_nodes=10),
    FleetDay(name="10,000, scanned in the night and sent from 7 to 8", slides=10_000, arrive=draw_night),
    FleetDay(name="10,000, spot takes a third of its nodes at 15:00", slides=10_000, loses_share_at=(PEAK, 1 / 3)),
    FleetDay(name="50,000, as deployed", slides=50_000),
    RAISED,
    replace(RAISED, name="100,000, raised, functions with the calls at once of 1,000", calls_of=1_000),
    replace(RAISED, name="100,000, raised, spot has 450 nodes and a fifth more on demand", spot_nodes=450),
    replace(RAISED, name="100,000, raised, spot takes a third of its nodes at 15:00", loses_share_at=(PEAK, 1 / 3)),
)


def make_terms(day: FleetDay) -> PlatformTerms:
    """Return the numbers of the installation that has this day."""
    limits = day.limits
    cold, hop = get_number("cold start of a function"), get_number("a message reaches its function")
    at_first, more = int(get_number("functions at first")), get_number("functions more") / 60
    functions = {
        name: FunctionTerms(
            at_once=limits.calls[name],
            seconds=CONSTANTS[name].spread,
            hop=hop,
            cold_start=cold,
            at_first=at_first,
            more_a_second=more,
        )
        for name in (INSPECT, PLAN, STITCH, NOTIFY)
    }
    boot = CONSTANTS["boot of a node"].spread
    # A pod of its own: KEDA's poll, a system node's boot, which has no GPU to wait for, and the process.
    functions[HEAVY] = FunctionTerms(
        at_once=limits.heavy_workers,
        seconds=CONSTANTS[HEAVY].spread,
        hop=scaling.POLLING_SECONDS,
        cold_start=get_number("start of a worker") + boot.draw(random.Random(SEED)),
    )
    until_sent = get_number("a relay's claim") + hop
    return PlatformTerms(
        functions=functions,
        relay=RelayTerms(
            at_once=limits.calls["wake"],
            rows=int(get_number("rows of a relay's round")),
            row_seconds=1 / get_number("a relay sends"),
            message_seconds=until_sent,
            least_seconds=until_sent + get_number("a relay's record"),
            hop=hop,
        ),
        scaled_job=replace(CHOSEN.scaled_job, max_replicas=limits.gpu_workers),
        worker=replace(CHOSEN.worker, start=get_number("start of a worker")),
        cluster=replace(
            CHOSEN.cluster,
            boot=boot,
            nodes=limits.spot_nodes,
            on_demand_nodes=limits.on_demand_nodes,
            refusal=get_number("refusal of spot"),
            spot_hours=get_number("spot node lives"),
            warm=day.warm_nodes,
        ),
        tile_seconds=1 / get_number("tiles of a GPU"),
        planner_rate=get_number("tiles of a GPU"),
        client_look=get_number("a client's look at its slide"),
        client_request=CONSTANTS["request to the API"].spread,
        warm_hours=WARM_HOURS if day.warm_nodes else None,
        loses_share_at=day.loses_share_at,
    )


def draw_slides(day: FleetDay, seed: int = SEED) -> list[SimulatedSlide]:
    """Return the day's slides. They depend on its number of slides, its arrivals and the seed alone."""
    source = random.Random(f"{seed}/slides")
    tiles, heavy = CONSTANTS["tiles of a slide"].spread, get_number("heavy plans")
    return [
        SimulatedSlide(
            number=number,
            uploaded=at,
            tiles=max(1, round(tiles.draw(source))),
            is_heavy=source.random() < heavy,
        )
        for number, at in enumerate(day.arrive(day.slides, source))
    ]


def simulate_fleet(day: FleetDay, *, seed: int = SEED, on_progress: OnProgress = ignore_progress) -> FleetOutcome:
    """Simulate the day and return its outcome."""
    platform = SimulatedPlatform(make_terms(day), seed=seed)
    platform.run(draw_slides(day, seed), on_progress=on_progress)
    return summarise(platform, day.limits)


def simulate_days(day: FleetDay, *, on_progress: OnProgress = ignore_progress) -> FleetOutcome:
    """Simulate several such days, if they have few slides, and return the mean day. `on_progress` gets the finished
    slides of all of them."""
    found: list[FleetOutcome] = []
    for number in range(count_days(day)):
        before = number * day.slides
        found.append(
            simulate_fleet(day, seed=SEED + number, on_progress=lambda done, before=before: on_progress(before + done))
        )
    return merge_days(found)


def count_days(day: FleetDay) -> int:
    """Return for how many days this one is simulated."""
    return max(1, LEAST_SLIDES // day.slides)
