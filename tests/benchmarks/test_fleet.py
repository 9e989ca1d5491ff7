"""The simulated fleet: no slide is lost, seconds add up, more capacity is never slower, and the document is what it
prints."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.settings.queues import WOKEN
from benchmarks.fleet import __main__ as report
from benchmarks.fleet.arrivals import compute_peak_factor, draw_day, draw_lab_day, draw_night
from benchmarks.fleet.constants import CONSTANTS, get_number
from benchmarks.fleet.costs import compute_slide_cost
from benchmarks.fleet.drawing import draw_days
from benchmarks.fleet.limits import derive_limits
from benchmarks.fleet.outcome import find_percentile, summarise
from benchmarks.fleet.platform import SimulatedPlatform
from benchmarks.fleet.scenarios import AS_DEPLOYED, FleetDay, draw_slides, make_terms, simulate_fleet
from benchmarks.fleet.slides import split_tiles
from benchmarks.fleet.tables import format_table, list_constant_rows
from cdk.scale.load import PEAK_FACTOR, Scale
from wsi.planning.shards import LEAST, MOST

DOC = Path(__file__).parents[2] / "docs/explanation/fleet.md"

days = st.builds(
    FleetDay,
    name=st.just(""),
    slides=st.integers(1, 120),
    spot_nodes=st.integers(1, 6),
    on_demand_nodes=st.integers(0, 3),
    warm_nodes=st.integers(0, 2),
    arrive=st.sampled_from([draw_day, draw_night]),
    loses_share_at=st.sampled_from([None, (7.5 * 3600.0, 1.0), (15 * 3600.0, 0.5)]),
)


def run_day(day: FleetDay, seed: int) -> SimulatedPlatform:
    platform = SimulatedPlatform(make_terms(day), seed=seed)
    platform.run(draw_slides(day, seed))
    return platform


@settings(max_examples=25)
@given(days, st.integers(0, 1000))
def test_every_slide_ends_once_and_passes_its_stages_in_order(day, seed):
    platform = run_day(day, seed)
    assert sorted(slide.number for slide in platform.slides) == list(range(day.slides))
    for slide in platform.slides:
        assert slide.shards_left == 0
        assert slide.uploaded < slide.inspected < slide.planned < slide.computed < slide.done
    assert platform.done == day.slides
    calls = {name: queue.calls for name, queue in platform.functions.items()}
    assert calls["inspect"] == calls["stitch"] == calls["plan"] + calls["heavy"] == day.slides
    assert not platform.outbox.waiting
    shards = sum(len(split_tiles(slide.tiles, get_number("tiles of a GPU"))) for slide in platform.slides)
    pushes_and_notices = platform.outbox.sent - 4 * day.slides - 2 * shards
    assert pushes_and_notices <= 5 * day.slides
    assert platform.workers.queues.waiting == platform.workers.queues.in_flight == platform.workers.running == 0


@settings(max_examples=25)
@given(days, st.integers(0, 1000))
def test_gpu_seconds_are_work_and_idling_and_no_wait_is_negative(day, seed):
    platform = run_day(day, seed)
    outcome = summarise(platform, day.limits)
    slides, terms = platform.slides, platform.terms
    least = sum(slide.tiles for slide in slides) * terms.tile_seconds
    assert outcome.work_seconds >= least * (1 - 1e-9)
    if not any(node.lost for node in platform.workers.nodes.all):
        assert outcome.work_seconds == pytest.approx(least)
    assert outcome.idle_seconds >= 0
    assert outcome.warm_seconds >= 0
    assert outcome.node_seconds == pytest.approx(outcome.work_seconds + outcome.idle_seconds + outcome.warm_seconds)
    assert all(wait >= 0 for queue in platform.functions.values() for wait in queue.waits)
    assert all(node.gone is not None for node in platform.workers.nodes.all)
    # Nodes that spot reclaims are there for two minutes more.
    reclaimed = sum(node.lost for node in platform.workers.nodes.all)
    assert outcome.most_nodes <= day.limits.spot_nodes + day.limits.on_demand_nodes + reclaimed
    assert outcome.bottleneck.share > 0


@settings(max_examples=25)
@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 1000))
def test_more_workers_end_a_night_of_slides_no_later(slides, workers, seed):
    day = FleetDay(name="", slides=slides, arrive=draw_night)
    terms = make_terms(day)
    ends = []
    for count in (workers, 2 * workers):
        fixed = replace(terms, fixed_workers=count, worker=replace(terms.worker, idle=1e9))
        platform = SimulatedPlatform(fixed, seed=seed)
        platform.run(draw_slides(day, seed))
        ends.append(max(slide.computed for slide in platform.slides))
    # List scheduling may end a shard later with more workers (Graham's anomaly); twice the workers, one at most.
    longest = MOST * terms.tile_seconds
    assert ends[1] <= ends[0] + longest


def test_a_day_that_cannot_end_is_an_error():
    day = FleetDay(name="", slides=1)
    gone = replace(make_terms(day), fixed_workers=1)  # it exits long before the slide comes
    with pytest.raises(RuntimeError, match="not over after 10 days: 0 slides are done"):
        SimulatedPlatform(gone, seed=1).run(draw_slides(day))


def test_a_heavier_load_on_the_same_limits_waits_longer():
    limits = derive_limits(500)
    p95 = []
    for slides in (200, 500, 2_000):
        day = FleetDay(name="", slides=slides, spot_nodes=limits.spot_nodes, on_demand_nodes=0)
        p95.append(find_percentile(simulate_fleet(day).seconds, 95))
        assert simulate_fleet(day) == simulate_fleet(day)
    scarce = FleetDay(name="", slides=2_000, spot_nodes=2, on_demand_nodes=0)
    assert find_percentile(simulate_fleet(scarce).seconds, 95) > p95[2]


def test_on_demand_nodes_take_over_where_spot_has_none():
    scarce = FleetDay(name="", slides=1_000, spot_nodes=3, on_demand_nodes=0)
    alone, helped = simulate_fleet(scarce), simulate_fleet(replace(scarce, on_demand_nodes=10))
    assert alone.on_demand_seconds == 0 < helped.on_demand_seconds
    assert find_percentile(helped.seconds, 95) < find_percentile(alone.seconds, 95)
    gpu = [cost.work + cost.idle for cost in map(compute_slide_cost, (alone, helped))]
    assert gpu[0] < gpu[1]


def test_warm_nodes_answer_sooner_and_cost_more():
    day = AS_DEPLOYED[0]
    cold, warm = simulate_fleet(day), simulate_fleet(replace(day, warm_nodes=1))
    assert find_percentile(warm.seconds, 50) < find_percentile(cold.seconds, 50)
    assert warm.warm_seconds > 6 * 3_600
    assert sum_gpu(warm) > sum_gpu(cold)


def sum_gpu(outcome) -> float:
    cost = compute_slide_cost(outcome)
    return cost.work + cost.idle


# --- labs


@given(st.integers(1, 1_500), st.integers(0, 1000))
def test_a_lab_uploads_each_slide_once_and_none_before_it_opens(slides, seed):
    uploads = draw_lab_day(slides, random.Random(seed))
    assert len(uploads) == slides
    assert uploads == sorted(uploads)
    assert 8 * 3600 < uploads[0] <= uploads[-1] < 22 * 3600


@pytest.mark.parametrize("slides", [1_000, 20_000])
def test_the_busiest_hour_is_within_the_peak_that_sizes_are_derived_for(slides):
    factor = compute_peak_factor(draw_day(slides, random.Random(1)))
    assert 2.5 < factor <= PEAK_FACTOR


# --- numbers


def test_limits_are_those_that_the_deployment_derives():
    for load in (10, 10_000, 100_000):
        limits, scale = derive_limits(load), Scale(slides_a_day=load)
        assert limits.gpu_workers == min(450, scale.gpu_workers)
        assert limits.calls == {queue: scale.compute_concurrency(queue) for queue in WOKEN}


@given(st.integers(1, 500_000), st.floats(1, 400))
def test_shards_are_the_planners(tiles, rate):
    shards = split_tiles(tiles, rate)
    assert sum(shards) == tiles
    assert max(shards) <= max(LEAST, min(MOST, round(60 * rate)))
    assert max(shards) - min(shards) <= 1


def test_every_constant_says_where_it_comes_from():
    assert all(constant.source and constant.unit for constant in CONSTANTS.values())
    mean = CONSTANTS["tiles of a slide"].spread
    source = random.Random(1)
    drawn = sum(mean.draw(source) for _ in range(20_000)) / 20_000
    assert drawn == pytest.approx(Scale(slides_a_day=1).tiles_a_slide, rel=0.03)


# --- the document


def list_table_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


def test_the_document_has_the_rows_of_small_loads_and_the_constants(capsys):
    report.main(["--most", "1000"])
    printed = list_table_lines(capsys.readouterr().out)
    document = DOC.read_text().splitlines()
    small = [line for line in printed if line.startswith(("| 10 |", "| 100 |", "| 1,000 |"))]
    assert len(small) == 3
    assert all(line in document for line in small)
    assert format_table(("constant", "value", "source"), list_constant_rows()) in DOC.read_text()


@pytest.mark.exhaustive
def test_the_document_holds_what_the_command_prints(capsys):
    report.main(["--most", "10000"])
    printed = list_table_lines(capsys.readouterr().out)
    document = DOC.read_text().splitlines()
    rows = [line for line in printed if line.startswith("| 10,000")]
    assert len(rows) >= 4
    assert all(line in document for line in rows)


def test_the_drawing_has_a_panel_for_each_day():
    outcome = simulate_fleet(AS_DEPLOYED[1])
    drawing = ElementTree.fromstring(draw_days({"a < b": outcome.samples, "second": outcome.samples}))
    texts = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a < b", "second", "24:00"} <= set(texts)
    assert len(list(drawing.iter("{http://www.w3.org/2000/svg}polygon"))) == 2
