"""The addresses of the private subnets suffice for the nodes that a load asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk.deployment import Deployment, WrongDeployment
from cdk.scale import addresses
from cdk.scale.addresses import AddressPlan
from tests.cdk.templates import Templates
from tests.cdk.workload.test_controllers import daemons

DEFAULT_GPU_NODE_ADDRESSES = 30  #: two interfaces of fifteen addresses

plans = st.builds(
    AddressPlan,
    gpu_nodes=st.integers(0, 20_000),
    system_nodes=st.integers(2, 200),
    zones=st.integers(2, 6),
    mask=st.integers(19, 20),
)


@pytest.mark.parametrize("slides", [10, 1_000, 10_000, 100_000])
@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_addresses_suffice_for_a_load(slides: int, environment: str) -> None:
    """Also for all workers that the load asks for, which may be more than a group of nodes holds."""
    deployment = Deployment.from_context({"environment": environment, "slides_per_day": slides})
    plan = deployment.addresses
    assert plan.suffices
    assert replace(plan, gpu_nodes=deployment.scale.gpu_workers + deployment.warm_nodes).suffices
    assert plan.needed == plan.gpu_nodes * 11 + plan.system_nodes * 30 + 256


def test_two_zones_carry_10000_slides_a_day_when_the_third_is_lost() -> None:
    plan = Deployment.from_context({"environment": "prod", "slides_per_day": 10_000}).addresses
    assert replace(plan, zones=2).suffices


def test_former_subnets_and_the_plugins_own_targets_ended_at_409_nodes() -> None:
    assert AddressPlan(gpu_nodes=0, system_nodes=0, zones=3, mask=20).available // DEFAULT_GPU_NODE_ADDRESSES == 409


def test_a_load_for_which_there_are_no_addresses_is_refused() -> None:
    zones = "eu-central-1a,eu-central-1b"
    small = {"slides_per_day": 130_000, "private_subnet_mask": 20, "availability_zones": zones}
    with pytest.raises(WrongDeployment, match=r"would take 8,206 addresses .* which have 8,182: lower slides_per_day"):
        Deployment.from_context(small)
    assert Deployment.from_context({**small, "private_subnet_mask": 19}).addresses.suffices


@given(plans)
def test_as_many_nodes_as_the_plan_allows_fit_and_one_more_does_not(plan: AddressPlan) -> None:
    assert replace(plan, gpu_nodes=plan.most_gpu_nodes).suffices
    assert not replace(plan, gpu_nodes=plan.most_gpu_nodes + 1).suffices


@given(plans)
def test_a_larger_subnet_or_another_zone_never_has_fewer_addresses(plan: AddressPlan) -> None:
    assert replace(plan, mask=19).available >= plan.available
    assert replace(plan, zones=plan.zones + 1).available > plan.available


def test_every_pod_of_a_gpu_node_has_an_address_without_asking_for_one(templates: Templates) -> None:
    worker_and_its_successor = 2
    assert len(daemons(templates)) + worker_and_its_successor == addresses.GPU_NODE_PODS
    assert addresses.GPU_NODE_PODS + addresses.WARM_IP_TARGET <= addresses.MINIMUM_IP_TARGET
    assert addresses.MINIMUM_IP_TARGET <= 14, "one interface of a .2xlarge, less its own address"
