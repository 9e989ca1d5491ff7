"""The checks, checked: each seeded mistake makes the facts fail that speak of it."""

from __future__ import annotations

import pytest

from tests.cdk.faults import (
    ageing,
    building,
    cluster,
    costs,
    data,
    doors,
    locks,
    network,
    recovery,
    redeploying,
    scale,
    sign_in,
    sources,
    traces,
    watching,
    workload,
)
from tests.cdk.faults.fault import Fault
from tests.cdk.manifests import CHART, change_objects, change_values, objects
from tests.cdk.templates import Templates

FAULTS = (
    *network.FAULTS,
    *data.FAULTS,
    *doors.FAULTS,
    *cluster.FAULTS,
    *workload.FAULTS,
    *watching.FAULTS,
    *ageing.FAULTS,
    *redeploying.FAULTS,
    *scale.FAULTS,
    *costs.FAULTS,
    *building.FAULTS,
    *traces.FAULTS,
    *sign_in.FAULTS,
    *sources.FAULTS,
    *locks.FAULTS,
)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_seeded_fault_makes_its_facts_fail(fault: Fault, request: pytest.FixtureRequest) -> None:
    check(fault, request.getfixturevalue(fault.preset))


@pytest.mark.parametrize("fault", recovery.FAULTS, ids=str)
def test_a_fault_of_a_second_region_makes_its_facts_fail(fault: Fault, furnished: Templates) -> None:
    check(fault, furnished)


def check(fault: Fault, whole: Templates) -> None:
    damaged = whole.damaged()
    fault.seed(damaged)
    assert (damaged.by_noun, damaged.after) != (whole.by_noun, whole.after)
    for fact in fault.facts:
        fact(whole)
        with pytest.raises((AssertionError, LookupError, ValueError)):
            fact(damaged)


@pytest.mark.parametrize("preset", sorted({fault.preset for fault in FAULTS}))
def test_a_damaged_copy_leaves_the_original_whole(preset: str, request: pytest.FixtureRequest) -> None:
    whole: Templates = request.getfixturevalue(preset)
    before = whole.damaged()
    for fault in FAULTS:
        if fault.preset == preset:
            fault.seed(whole.damaged())
    assert whole.by_noun == before.by_noun


def test_objects_and_values_are_written_back_as_they_were(prod: Templates) -> None:
    copy = prod.damaged()
    for kind in {found["kind"] for found in objects(copy)}:
        change_objects(copy, kind, lambda found: None)
    for chart in copy.resources(CHART).values():
        change_values(copy, chart["Properties"]["Chart"], lambda values: None)
    assert copy.by_noun == prod.by_noun
