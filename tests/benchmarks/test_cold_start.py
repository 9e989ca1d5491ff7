"""The table of the cold start: that its sum is the sum, and that the document has the table and says what is missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.settings import scaling
from benchmarks.cold_start import PARTS, TARGET_SECONDS, find_percentiles, make_table, sum_parts
from benchmarks.keda_scaling.nodes import Cluster
from benchmarks.keda_scaling.workers import SimulatedWorker

TEXT = (Path(__file__).parents[2] / "docs/explanation/scaling.md").read_text()
BY_NAME = {part.name: part for part in PARTS}


def test_the_document_has_the_table() -> None:
    assert make_table() in TEXT


def test_the_document_says_by_how_much_the_target_is_missed() -> None:
    p50, _ = sum_parts()
    assert p50 > TARGET_SECONDS
    assert f"The sum is {p50:.0f} s, {p50 - TARGET_SECONDS:.0f} s more than the target" in TEXT


def test_every_part_has_a_source_and_is_no_faster_at_p90() -> None:
    assert all(part.source and 0 < part.p50 <= part.p90 for part in PARTS)


def test_waiting_for_polls_is_that_of_the_settings() -> None:
    for name, seconds in (("KEDA polls the queue", scaling.POLLING_SECONDS), ("the autoscaler scans", 10)):
        part = BY_NAME[name]
        assert (part.p50, part.p90) == (pytest.approx(seconds / 2, abs=0.5), pytest.approx(0.9 * seconds, abs=0.5))


def test_the_simulation_assumes_no_faster_start_than_the_parts() -> None:
    node_and_image = [BY_NAME[name].p50 for name in BY_NAME if name.startswith(("node", "image"))]
    assert sum(node_and_image) <= Cluster.__dataclass_fields__["boot"].default.least
    worker = [part.p50 for part in PARTS if part.name.startswith(("process", "package", "model"))]
    assert sum(worker) <= SimulatedWorker.__dataclass_fields__["start"].default


def test_percentiles_of_one_and_of_many() -> None:
    assert find_percentiles([3.0]) == (3.0, 3.0)
    assert find_percentiles([float(n) for n in range(11)]) == (5.0, 9.0)
