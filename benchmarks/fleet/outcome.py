"""The outcome of a simulated day: times to result, GPUs, and how busy each resource was."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.fleet.busy_hours import HOUR, BusyHours
from benchmarks.fleet.limits import FleetLimits
from benchmarks.fleet.platform import SimulatedPlatform
from benchmarks.fleet.samples import FleetSample
from cdk.scale.load import REQUESTS

GPU_WORKERS, RELAY, GATEWAY = "GPU workers", "relay", "requests a second"


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """A resource in its busiest hour."""

    name: str
    limit: int
    share: float  #: of the hour and of the limit


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetOutcome:
    slides: int
    seconds: Sequence[float]  #: to the result, of each slide, sorted
    last: float  #: s since midnight when the last slide has its result
    work_seconds: float  #: of GPUs
    spot_seconds: float  #: of nodes, from their request to their removal, with those of pause pods
    on_demand_seconds: float
    warm_seconds: float  #: of nodes that pause pods held
    most_nodes: int  #: at once
    nodes: float  #: that were started
    function_seconds: Mapping[str, float]
    calls: Mapping[str, float]
    uses: Sequence[ResourceUse]
    samples: Sequence[FleetSample]

    @property
    def node_seconds(self) -> float:
        return self.spot_seconds + self.on_demand_seconds

    @property
    def idle_seconds(self) -> float:
        """The seconds of nodes that boot, start, wait and end: neither work nor warm."""
        return self.node_seconds - self.work_seconds - self.warm_seconds

    @property
    def mean_nodes(self) -> float:
        """The mean over 24 hours."""
        return self.node_seconds / (24 * HOUR)

    @property
    def bottleneck(self) -> ResourceUse:
        """The resource that is the busiest in its busiest hour: the first that more slides would saturate."""
        return max(self.uses, key=lambda use: use.share)


def find_percentile(ordered: Sequence[float], percent: float) -> float:
    """Return the least of these numbers that so many of them do not exceed."""
    return ordered[math.ceil(percent / 100 * len(ordered)) - 1]


def summarise(platform: SimulatedPlatform, limits: FleetLimits) -> FleetOutcome:
    """Return the outcome of a platform that has run."""
    workers, nodes, now = platform.workers, platform.workers.nodes, platform.agenda.now
    ups = {True: 0.0, False: 0.0}
    for node in nodes.all:
        ups[node.is_spot] += (now if node.gone is None else node.gone) - node.asked
    done = [slide.done for slide in platform.slides if slide.done is not None]
    return FleetOutcome(
        slides=len(platform.slides),
        seconds=sorted(slide.seconds for slide in platform.slides),
        last=max(done),
        work_seconds=workers.work_seconds,
        spot_seconds=ups[True],
        on_demand_seconds=ups[False],
        warm_seconds=nodes.held_seconds,
        most_nodes=max(sample.spot + sample.on_demand for sample in platform.samples),
        nodes=len(nodes.all),
        function_seconds={
            **{name: queue.busy.total for name, queue in platform.functions.items()},
            RELAY: platform.outbox.busy.total,
        },
        calls={name: float(queue.calls) for name, queue in platform.functions.items()},
        uses=tuple(_list_uses(platform, limits)),
        samples=platform.samples,
    )


def _list_uses(platform: SimulatedPlatform, limits: FleetLimits) -> list[ResourceUse]:
    running = _find_busiest_hour(platform.samples)
    workers = min(limits.gpu_workers, limits.spot_nodes + limits.on_demand_nodes)
    uploads = BusyHours()
    for slide in platform.slides:
        uploads.add(slide.uploaded, 1.0)
    relay = platform.outbox
    return [
        ResourceUse(GPU_WORKERS, workers, running / workers),
        *(
            ResourceUse(name, queue.terms.at_once, queue.busy.most / HOUR / queue.terms.at_once)
            for name, queue in platform.functions.items()
        ),
        ResourceUse(RELAY, relay.terms.at_once, relay.work.most / HOUR / relay.terms.at_once),
        ResourceUse(GATEWAY, limits.gateway_requests, uploads.most * REQUESTS / HOUR / limits.gateway_requests),
    ]


def _find_busiest_hour(samples: Sequence[FleetSample]) -> float:
    """Return the mean of the shards that ran in the hour in which the most did."""
    hours: dict[int, list[int]] = {}
    for sample in samples:
        hours.setdefault(int(sample.at // HOUR), []).append(sample.running)
    return max(sum(hour) / len(hour) for hour in hours.values())


def merge_days(days: Sequence[FleetOutcome]) -> FleetOutcome:
    """Return a mean day: all slides' seconds, the latest result and the most nodes, and the means of what adds up.
    Samples are of the first day."""
    count = len(days)
    return replace(
        days[0],
        seconds=sorted(seconds for day in days for seconds in day.seconds),
        last=max(day.last for day in days),
        most_nodes=max(day.most_nodes for day in days),
        work_seconds=sum(day.work_seconds for day in days) / count,
        spot_seconds=sum(day.spot_seconds for day in days) / count,
        on_demand_seconds=sum(day.on_demand_seconds for day in days) / count,
        warm_seconds=sum(day.warm_seconds for day in days) / count,
        nodes=sum(day.nodes for day in days) / count,
        function_seconds=_average([day.function_seconds for day in days]),
        calls=_average([day.calls for day in days]),
        uses=tuple(
            ResourceUse(uses[0].name, uses[0].limit, sum(use.share for use in uses) / count)
            for uses in zip(*(day.uses for day in days), strict=True)
        ),
    )


def _average(days: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(day[name] for day in days) / len(days) for name in days[0]}
