"""The simulation's constants of an embedded stack, from what runs of a pattern measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from benchmarks.fleet.check.patterns import MeasuredRun, MeasuredShard
from benchmarks.fleet.check.timed_stack import TimedCall
from benchmarks.fleet.functions import FunctionTerms
from benchmarks.fleet.outbox import RelayTerms
from benchmarks.fleet.platform import HEAVY, INSPECT, NOTIFY, PLAN, STITCH, PlatformTerms
from benchmarks.keda_scaling.nodes import Cluster
from benchmarks.keda_scaling.scenarios import CHOSEN
from benchmarks.keda_scaling.spreads import Between, Seen
from benchmarks.keda_scaling.workers import SimulatedWorker
from gpu_worker.waits import WorkerWaits
from wsi.notices.outbox import CLAIM_ROWS

#: Time that never ends: workers of the stack stay.
FOREVER = 1e9


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedConstants:
    """Seconds, as measured: of each call, or of their mean."""

    registering: Seen  #: from the planned arrival to the end of the client's request
    submitting: Seen  #: from an inspection's end to the end of the client's second request
    inspect: Seen
    plan: Seen
    stitch: Seen
    relay: float  #: of a call
    hand_over: float  #: from a commit, through relay and queue, to a call of a function that was free
    shard: float  #: between two commits of a worker that had both shards
    tiles: float  #: of a shard
    first: float  #: that a shard takes longer whose worker had none

    def list_rows(self) -> list[tuple[str, str]]:
        """Return name and value of each."""
        return [
            (name, f"{mean(value.values) if isinstance(value, Seen) else value:.3f}")
            for name, value in (
                ("a client registers a slide", self.registering),
                ("inspect", self.inspect),
                ("a client sees that and submits a job", self.submitting),
                ("plan", self.plan),
                ("stitch", self.stitch),
                ("a call of the relay", self.relay),
                ("from a commit to the next call", self.hand_over),
                ("a shard behind another", self.shard),
                ("a worker's first shard takes longer by", self.first),
            )
        ]

    def make_terms(self, workers: int) -> PlatformTerms:
        """Return the simulated stack: one call at once of each function, and workers that stay."""
        never = Seen((0.0,))
        seconds = {INSPECT: self.inspect, PLAN: self.plan, STITCH: self.stitch, NOTIFY: never, HEAVY: never}
        return PlatformTerms(
            functions={name: FunctionTerms(at_once=1, seconds=spread) for name, spread in seconds.items()},
            relay=RelayTerms(
                at_once=1,
                rows=CLAIM_ROWS,
                row_seconds=0.0,
                message_seconds=self.hand_over,
                least_seconds=self.relay,
            ),
            scaled_job=CHOSEN.scaled_job,
            worker=SimulatedWorker(
                leases=CHOSEN.worker.leases, idle=FOREVER, start=0.0, first=self.first, poll=WorkerWaits().poll
            ),
            cluster=Cluster(polling=FOREVER, unneeded=FOREVER, after_add=FOREVER, boot=Between(0.0, 0.0)),
            tile_seconds=self.shard / self.tiles,
            planner_rate=1.0,
            shard_tiles=round(self.tiles),
            client_look=0.0,
            client_request=self.submitting,
            fixed_workers=workers,
        )


def derive_constants(runs: Sequence[MeasuredRun]) -> FittedConstants:
    """Return the constants by which these runs are explained."""
    shards = [shard for run in runs for shard in run.shards]
    behind, alone = _split_shards(runs)
    shard = mean(behind)
    hand_overs = [seconds for run in runs for seconds in _list_hand_overs(run)]
    inspections = {run: _index_ends(run.list_calls(INSPECT)) for run in runs}
    return FittedConstants(
        registering=Seen(tuple(client.registered - client.planned for run in runs for client in run.clients)),
        submitting=Seen(
            tuple(client.submitted - inspections[run][client.slide] for run in runs for client in run.clients)
        ),
        inspect=_see_calls(runs, INSPECT),
        plan=_see_calls(runs, PLAN),
        stitch=_see_calls(runs, STITCH),
        relay=mean(call.ended - call.began for run in runs for call in run.list_calls("wake")),
        hand_over=mean(hand_overs),
        shard=shard,
        tiles=mean(shard.tiles for shard in shards),
        first=max(0.0, mean(alone) - shard) if alone else 0.0,
    )


def _see_calls(runs: Iterable[MeasuredRun], queue: str) -> Seen:
    return Seen(tuple(call.ended - call.began for run in runs for call in run.list_calls(queue)))


def _index_ends(calls: Iterable[TimedCall]) -> dict[str, float]:
    return {id: call.ended for call in calls for id in call.ids}


def _list_hand_overs(run: MeasuredRun) -> list[float]:
    """Return the seconds from each commit to the call that it caused, where the function was free meanwhile."""
    computed: dict[str, float] = {}
    for shard in run.shards:
        computed[shard.job] = max(computed.get(shard.job, 0.0), shard.committed)
    commits = {
        INSPECT: {client.slide: client.registered for client in run.clients},
        PLAN: {client.job: client.submitted for client in run.clients},
        STITCH: computed,
    }
    found: list[float] = []
    for queue, by_id in commits.items():
        free_at = 0.0
        for call in run.list_calls(queue):
            found += [max(0.0, call.began - by_id[id]) for id in call.ids if id in by_id and by_id[id] > free_at]
            free_at = call.ended
    return found


def _split_shards(runs: Iterable[MeasuredRun]) -> tuple[list[float], list[float]]:
    """Return the seconds from commit to commit of shards that their worker leased before it had committed another one,
    and from lease to commit of the others."""
    behind: list[float] = []
    alone: list[float] = []
    for run in runs:
        last: dict[str, MeasuredShard] = {}
        for shard in sorted(run.shards, key=lambda shard: shard.committed):
            before = last.get(shard.owner)
            if before is not None and shard.leased < before.committed:
                behind.append(shard.committed - before.committed)
            else:
                alone.append(shard.committed - shard.leased)
            last[shard.owner] = shard
    return behind, alone
