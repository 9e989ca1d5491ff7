"""The derived numbers reach the templates, and what is given explicitly wins over them."""

from __future__ import annotations

import pytest

from adapters.settings.queues import WOKEN
from cdk.deployment import MOST_GPU_NODES, Deployment
from cdk.scale.addresses import MINIMUM_IP_TARGET, WARM_IP_TARGET
from cdk.scale.load import Scale
from cdk.scale_report import list_quotas, make_report
from tests.cdk.api.test_functions import function, mappings
from tests.cdk.api.test_gateway import rate
from tests.cdk.cluster.test_cluster import configuration
from tests.cdk.manifests import one_object
from tests.cdk.network.test_network import tier
from tests.cdk.templates import Templates, synthesized

LARGE = 100_000


@pytest.fixture(scope="module")
def large() -> Templates:
    return synthesized(environment="prod", slides_per_day=LARGE)


@pytest.fixture(params=["prod", "large"])
def sized(request: pytest.FixtureRequest) -> Templates:
    """A usual load and the largest, in turn."""
    return request.getfixturevalue(request.param)


def most(templates: Templates, worker: str) -> int:
    return one_object(templates, "ScaledJob", worker)["spec"]["maxReplicaCount"]


def test_the_load_bounds_the_workers(sized: Templates) -> None:
    scale = sized.deployment.scale
    assert most(sized, "gpu-worker") == min(MOST_GPU_NODES, scale.gpu_workers)
    assert most(sized, "heavy-worker") == scale.heavy_workers


def test_a_waiting_job_is_told_by_the_bound_of_the_workers(sized: Templates) -> None:
    told = function(sized, "api")["Properties"]["Environment"]["Variables"]["TESSERA_MOST_WORKERS"]
    assert int(told) == most(sized, "gpu-worker")


def test_as_many_shards_are_in_flight_as_start_all_workers(sized: Templates) -> None:
    told = function(sized, "relay")["Properties"]["Environment"]["Variables"]["TESSERA_SHARDS_IN_FLIGHT"]
    metadata = one_object(sized, "ScaledJob", "gpu-worker")["spec"]["triggers"][0]["metadata"]
    assert int(told) == most(sized, "gpu-worker") * int(metadata["queueLength"])


def test_the_load_bounds_the_calls_of_functions(sized: Templates) -> None:
    found = {name: mapping["ScalingConfig"]["MaximumConcurrency"] for name, mapping in mappings(sized).items()}
    scale = sized.deployment.scale
    assert found == {woken.name: scale.compute_concurrency(queue) for queue, woken in WOKEN.items()}


def test_the_load_bounds_requests(sized: Templates) -> None:
    scale = sized.deployment.scale
    [settings] = sized.resource("AWS::ApiGateway::Stage", "api")["Properties"]["MethodSettings"]
    assert (settings["ThrottlingRateLimit"], settings["ThrottlingBurstLimit"]) == (
        scale.request_rate,
        scale.request_burst,
    )
    assert rate(sized, "rate-of-one-credential")["Limit"] == scale.credential_limit
    assert rate(sized, "rate-of-one-credential-begins-work")["Limit"] == scale.beginning_limit


def test_the_load_gives_the_budget(sized: Templates) -> None:
    budget = sized.resource("AWS::Budgets::Budget")["Properties"]["Budget"]
    assert budget["BudgetLimit"]["Amount"] == sized.deployment.scale.budget_dollars_a_month


def test_the_subnets_have_the_planned_addresses(sized: Templates) -> None:
    subnets = sized.resources("AWS::EC2::Subnet", "network").values()
    private = [subnet["Properties"]["CidrBlock"] for subnet in subnets if tier(subnet) == "private"]
    plan = sized.deployment.addresses
    assert len(private) == plan.zones
    assert sum(2 ** (32 - int(cidr.rpartition("/")[2])) - 5 for cidr in private) == plan.available >= plan.needed


def test_a_node_takes_the_planned_addresses(sized: Templates) -> None:
    assert configuration(sized, "vpc-cni")["env"] == {
        "MINIMUM_IP_TARGET": str(MINIMUM_IP_TARGET),
        "WARM_IP_TARGET": str(WARM_IP_TARGET),
    }


def test_a_larger_load_gives_larger_numbers(prod: Templates, large: Templates) -> None:
    assert most(large, "gpu-worker") == 450 > most(prod, "gpu-worker") == 24
    assert most(large, "heavy-worker") == 80 > most(prod, "heavy-worker") == 4


def test_an_explicit_setting_wins_over_the_load() -> None:
    given = {"max_gpu_workers": "7", "monthly_budget_dollars": "123"}
    deployment = Deployment.from_context({"slides_per_day": str(LARGE), **given})
    assert (deployment.max_gpu_workers, deployment.monthly_budget_dollars) == (7, 123)
    assert deployment.scale.gpu_workers == Scale(slides_a_day=LARGE).gpu_workers
    assert deployment.addresses.gpu_nodes == 7


def test_the_load_wins_over_a_preset() -> None:
    assert Deployment.from_context({"environment": "prod"}).max_gpu_workers == 24
    assert Deployment.from_context({"environment": "prod", "slides_per_day": "10000"}).max_gpu_workers == 139


def test_a_faster_model_takes_fewer_workers() -> None:
    fast = {"environment": "prod", "slides_per_day": "10000", "tiles_per_gpu_second": "1220"}
    assert Deployment.from_context(fast).max_gpu_workers == 14


def test_an_installation_with_the_former_subnets_keeps_them() -> None:
    """Another length would replace them under all that runs in them."""
    kept = synthesized(environment="dev", private_subnet_mask=20)
    subnets = kept.resources("AWS::EC2::Subnet", "network").values()
    private = {subnet["Properties"]["CidrBlock"] for subnet in subnets if tier(subnet) == "private"}
    assert private == {"10.0.16.0/20", "10.0.32.0/20", "10.0.48.0/20"}


def test_private_subnets_of_six_zones_fit_into_the_network() -> None:
    zones = ",".join(f"us-east-1{letter}" for letter in "abcdef")
    wide = synthesized(environment="dev", region="us-east-1", availability_zones=zones)
    blocks = [s["Properties"]["CidrBlock"] for s in wide.resources("AWS::EC2::Subnet", "network").values()]
    assert len(set(blocks)) == 18


@pytest.mark.parametrize("slides", [10, LARGE])
def test_the_report_is_one_short_table(slides: int) -> None:
    lines = make_report(Deployment.from_context({"environment": "prod", "slides_per_day": slides})).splitlines()
    assert len(lines) <= 16
    assert max(map(len, lines)) <= 120
    assert lines[0].startswith(f"{slides:,} slides a day")


def test_the_report_names_the_quotas_that_must_be_raised() -> None:
    deployment = Deployment.from_context({"environment": "prod", "slides_per_day": LARGE})
    raised = {quota.code for quota in list_quotas(deployment) if quota.must_be_raised}
    assert raised == {"L-3819A6DF", "L-DB2E81BA", "L-BD136A63", "L-7A658B76"}
    assert all(code in make_report(deployment) for code in raised)
