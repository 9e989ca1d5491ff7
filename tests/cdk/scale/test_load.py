"""What a load asks for: at sizes from a trial to the largest, and that more slides never ask for less."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.settings.queues import WOKEN
from cdk.scale import load
from cdk.scale.load import Scale
from tessera.costs.load import Load
from wsi.planning import shards

SLIDES = st.integers(1, 10_000_000)
NUMBERS = (
    *("peak_slides_a_second", "gpu_workers", "outbox_rows_a_second", "heavy_workers"),
    *("system_nodes", "request_rate", "request_burst", "beginning_limit", "credential_limit"),
    *("lambda_concurrency", "budget_dollars_a_month"),
)


def numbers(scale: Scale) -> dict[str, float]:
    calls = {f"calls of {woken.name}": scale.compute_concurrency(queue) for queue, woken in WOKEN.items()}
    return {**{name: getattr(scale, name) for name in NUMBERS}, **calls}


@pytest.mark.parametrize(
    ("slides", "workers", "heavy", "requests", "budget"),
    [
        (10, 1, 4, (2_000, 4_000, 600), 1_000),
        (1_000, 14, 4, (2_000, 4_000, 600), 3_700),
        (10_000, 139, 8, (2_000, 4_000, 600), 28_000),
        (100_000, 1_389, 80, (2_200, 4_400, 2_400), 271_400),
    ],
)
def test_a_load_asks_for_these(
    slides: int, workers: int, heavy: int, requests: tuple[int, int, int], budget: int
) -> None:
    scale = Scale(slides_a_day=slides)
    assert scale.gpu_workers == workers
    assert (scale.heavy_workers, scale.system_nodes) == (heavy, heavy + 1)
    assert (scale.request_rate, scale.request_burst, scale.beginning_limit) == requests
    assert scale.budget_dollars_a_month == budget


@pytest.mark.parametrize(
    ("slides", "calls"),
    [
        (10, {"wake": 2, "inspect": 10, "plan": 10, "stitch": 5, "notify": 5}),
        (1_000, {"wake": 2, "inspect": 10, "plan": 10, "stitch": 5, "notify": 5}),
        (10_000, {"wake": 2, "inspect": 10, "plan": 10, "stitch": 5, "notify": 5}),
        (100_000, {"wake": 2, "inspect": 20, "plan": 14, "stitch": 20, "notify": 34}),
    ],
)
def test_functions_run_as_often_at_once_as_a_load_asks_for(slides: int, calls: dict[str, int]) -> None:
    assert {queue: Scale(slides_a_day=slides).compute_concurrency(queue) for queue in WOKEN} == calls


@given(SLIDES, SLIDES)
def test_more_slides_never_ask_for_less(one: int, other: int) -> None:
    less, more = (numbers(Scale(slides_a_day=slides)) for slides in sorted((one, other)))
    assert {name: value for name, value in less.items() if more[name] < value} == {}


@given(SLIDES, st.floats(1, 20), st.floats(1, 10_000))
def test_slower_models_and_higher_peaks_never_ask_for_less(slides: int, peak: float, rate: float) -> None:
    scale = Scale(slides_a_day=slides, peak_factor=peak, tiles_a_gpu_second=rate)
    for harder in (replace(scale, peak_factor=2 * peak), replace(scale, tiles_a_gpu_second=rate / 2)):
        asked = numbers(harder)
        assert {name: value for name, value in numbers(scale).items() if asked[name] < value} == {}


@given(SLIDES)
def test_workers_do_the_work_of_the_busiest_hour_and_one_less_does_not(slides: int) -> None:
    scale = Scale(slides_a_day=slides)
    work = slides / 24 * scale.peak_factor * scale.gpu_seconds_a_slide
    assert scale.gpu_workers * 3_600 >= work * (1 - 1e-9)
    assert scale.gpu_workers == 1 or (scale.gpu_workers - 1) * 3_600 < work * (1 + 1e-9)


@given(SLIDES)
def test_what_lambda_and_the_gateway_refuse_is_never_asked_for(slides: int) -> None:
    scale = Scale(slides_a_day=slides)
    assert all(2 <= scale.compute_concurrency(queue) <= 1_000 for queue in WOKEN)
    assert scale.request_rate <= 10_000
    assert scale.request_burst <= 5_000
    assert scale.beginning_limit < scale.credential_limit


def test_the_relay_sends_what_its_calls_can_send() -> None:
    scale = Scale(slides_a_day=100_000)
    assert scale.compute_concurrency("wake") / load.SECONDS_A_ROW > scale.outbox_rows_a_second


def test_every_function_behind_a_queue_has_its_seconds() -> None:
    assert set(load.SECONDS_A_CALL) == set(WOKEN) - {"wake"}
    for queue, seconds in load.SECONDS_A_CALL.items():
        assert seconds < WOKEN[queue].timeout_seconds


def test_calls_are_as_short_as_a_hundred_thousand_slides_a_day_need_them() -> None:
    """With the calls at once of the table of queues, at the mean rate of such a day: a slide every 0.864 s."""
    every = load.DAY_SECONDS / 100_000
    for queue in ("inspect", "plan", "stitch"):
        assert load.SECONDS_A_CALL[queue] <= WOKEN[queue].at_once * every


def test_shards_are_those_of_the_planner() -> None:
    assert (shards.SECONDS, shards.LEAST, shards.MOST) == (
        load.SHARD_SECONDS,
        load.LEAST_SHARD_TILES,
        load.MOST_SHARD_TILES,
    )
    for rate in (1.0, 34.1, 122.0, 5_000.0):
        size = shards.compute_shard_size(rate)
        expected = len(shards.compute_shard_offsets(load.TILES_A_SLIDE, size)) - 1
        assert Scale(slides_a_day=1, tiles_a_gpu_second=rate).shards_a_slide == expected


def test_a_slide_costs_what_the_documents_say() -> None:
    scale = Scale(slides_a_day=1)
    example = Load(slides_a_day=1)
    assert scale.gpu_seconds_a_slide == pytest.approx(example.gpu_seconds_a_slide)
    assert example.gib_a_slide == load.GIGABYTES_A_SLIDE
