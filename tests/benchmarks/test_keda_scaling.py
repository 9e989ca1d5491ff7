"""The simulated cluster loses nothing, and the deployed numbers do in it what they were chosen for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.settings import scaling
from benchmarks.keda_scaling import __main__ as report
from benchmarks.keda_scaling.__main__ import Summary
from benchmarks.keda_scaling.formulas import ScaledJob
from benchmarks.keda_scaling.model import Simulation, SimulationOutcome
from benchmarks.keda_scaling.nodes import Cluster
from benchmarks.keda_scaling.scenarios import (
    ALTERNATIVES,
    BURSTS,
    CHOSEN,
    OTHER_DAYS,
    WARM_BURSTS,
    WRONG,
    Day,
    Settings,
    simulate_day,
)
from benchmarks.keda_scaling.workers import SimulatedWorker

DOC = Path(__file__).parents[2] / "docs/explanation/scaling.md"
BY_NAME = {one.name: one for one in (*ALTERNATIVES, *WRONG)}
DAYS = {day.name: day for day in OTHER_DAYS}

arrivals = st.lists(
    st.tuples(st.floats(0, 900), st.sampled_from(["high", "normal", "low"]), st.integers(1, 12)), min_size=1, max_size=4
)
scaled_jobs = st.builds(
    ScaledJob,
    strategy=st.sampled_from(["default", "accurate", "eager"]),
    scale_on_in_flight=st.booleans(),
    queue_length=st.integers(1, 5),
    calculation=st.sampled_from(["sum", "max"]),
    max_replicas=st.integers(1, 12),
)
workers = st.builds(SimulatedWorker, leases=st.integers(1, 2), idle=st.sampled_from([5.0, 90.0]))
clusters = st.builds(
    Cluster,
    polling=st.just(15.0),
    unneeded=st.sampled_from([0.0, 120.0]),
    after_add=st.sampled_from([0.0, 120.0]),
    nodes=st.integers(2, 12),
    warm=st.integers(0, 1),
    lost_share=st.sampled_from([0.0, 0.5]),
)


@settings(deadline=None, max_examples=60)
@given(scaled_jobs, workers, clusters, arrivals, st.integers(0, 1000))
def test_every_shard_is_done_once_whatever_the_settings(scaled_job, worker, cluster, arrivals, seed):
    simulation = Simulation(scaled_job, worker, cluster, seed=seed)
    outcome = simulation.run(arrivals)
    count = sum(shards for _, _, shards in arrivals)
    assert len(outcome.completion) == len(simulation.shards) == count
    assert all(seconds > 0 for seconds in outcome.completion)
    assert all(pod.ended is not None and not pod.held for pod in simulation.pods)
    assert outcome.useless <= outcome.pods == len(simulation.pods)
    assert outcome.most_leases <= worker.leases
    assert outcome.runs >= count
    if not cluster.lost_share:
        assert outcome.runs == count
        work = sum(simulation.draw_number(cluster.work, "shard", number) for number in range(count))
        assert outcome.work_seconds == pytest.approx(work)
    assert outcome.work_seconds <= outcome.gpu_seconds


def test_the_same_seed_gives_the_same_day():
    day = DAYS["60, spot takes a third"]
    assert simulate_day(CHOSEN, day) == simulate_day(CHOSEN, day)


def test_a_reclaim_loses_no_work_but_the_resuming():
    cluster = replace(CHOSEN.cluster, lost_share=1.0)
    calm, struck = (
        Simulation(CHOSEN.scaled_job, CHOSEN.worker, one, seed=3).run([(0.0, "normal", 20)])
        for one in (CHOSEN.cluster, cluster)
    )
    lost = struck.runs - calm.runs
    assert lost > 0
    assert struck.work_seconds == pytest.approx(calm.work_seconds + lost * CHOSEN.worker.resume)


def test_a_warm_node_answers_in_half_a_minute_and_is_warm_again_after():
    day = replace(WARM_BURSTS[0], arrivals=((0.0, "normal", 1),), work=(60.0, 60.0))
    for outcome in simulate_day(CHOSEN, day):
        assert 90 <= outcome.completion[0] <= 90 + scaling.POLLING_SECONDS + Cluster.__dataclass_fields__["lag"].default
    assert Summary.of(simulate_day(CHOSEN, replace(day, warm=0))).p95 > 5


# --- the deployed numbers


def test_pods_stand_for_no_fewer_messages_than_a_worker_leases():
    assert scaling.SHARDS_A_WORKER >= scaling.LEASES_HELD


def test_a_worker_outlasts_what_sqs_still_counts_of_its_last_messages():
    lag = Cluster.__dataclass_fields__["lag"].default
    assert lag + scaling.POLLING_SECONDS < scaling.IDLE_SECONDS


def summary(of: Settings, day: Day) -> Summary:
    return Summary.of(simulate_day(of, day))


@pytest.mark.parametrize("day", [*BURSTS, *WARM_BURSTS], ids=lambda day: f"{day.name}-{day.warm}")
def test_a_burst_starts_no_pod_in_vain(day):
    assert summary(CHOSEN, day).useless == 0


@pytest.mark.parametrize("wrong", ["accurate, in flight counted", "eager", "queueLength 1", "idle 10 s"])
def test_wrong_settings_start_pods_in_vain(wrong):
    day = DAYS["6 every 5 min, for an hour"]
    assert summary(CHOSEN, day).useless == 0
    assert summary(BY_NAME[wrong], day).useless > 1


def test_the_largest_queue_alone_leaves_the_others_waiting():
    day = DAYS["20 over three queues"]
    assert summary(BY_NAME["max instead of sum"], day).p95 > summary(CHOSEN, day).p95 + 3


def test_long_shards_that_are_not_counted_keep_new_ones_waiting():
    day = DAYS["one a minute, for an hour, of 10 min"]
    assert summary(BY_NAME["in flight not counted"], day).p95 > summary(CHOSEN, day).p95 + 10


def test_nodes_that_wait_for_ten_minutes_cost_more_than_they_work():
    late = summary(BY_NAME["nodes go after 10 min, the autoscaler's default"], BURSTS[1])
    assert late.idle > 1.8 * summary(CHOSEN, BURSTS[1]).idle


def test_the_document_holds_what_the_command_prints(capsys):
    report.main()
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(printed) > 40
    simulated = DOC.read_text().partition("\n## The simulation\n")[2]
    assert [line for line in simulated.splitlines() if line.startswith("|")] == printed


def test_outcomes_are_summed_up_over_all_shards():
    outcomes = [
        SimulationOutcome(
            completion=tuple(60.0 * n for n in numbers),
            pods=2,
            useless=useless,
            gpu_seconds=600,
            work_seconds=240,
            most_leases=1,
            runs=2,
        )
        for numbers, useless in (((1, 2), 0), (range(3, 21), 1))
    ]
    found = Summary.of(outcomes)
    assert (found.p95, found.latest, found.useless, found.idle, found.cost) == (19, 20, 0.5, 6, 10)
