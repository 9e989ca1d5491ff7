from __future__ import annotations

from collections.abc import Callable

from tests.cdk.api.test_functions import function
from tests.cdk.cluster import test_cluster as cluster
from tests.cdk.faults.fault import Fault, at, set_at
from tests.cdk.manifests import Object, change_objects
from tests.cdk.scale import test_derived as derived
from tests.cdk.templates import Templates


def bound(worker: str, most: int) -> Callable[[Templates], None]:
    """Seeds a bound of one worker."""

    def change(found: Object) -> None:
        if found["metadata"]["name"] == worker:
            found["spec"]["maxReplicaCount"] = most

    return lambda templates: change_objects(templates, kind="ScaledJob", change=change)


def subnets_of_256(templates: Templates) -> None:
    for number, subnet in enumerate(at(templates, "network/Vpc/privateSubnet*/Subnet")):
        subnet["Properties"]["CidrBlock"] = f"10.0.{32 + number}.0/24"


def a_free_interface_a_node(templates: Templates) -> None:
    cluster.addons(templates)["vpc-cni"]["Properties"]["ConfigurationValues"] = '{"enableNetworkPolicy": "true"}'


def one_rate_for_all_loads(templates: Templates) -> None:
    [stage] = at(templates, "api/Gateway/Rest/DeploymentStage.live/Resource")
    stage["Properties"]["MethodSettings"][0]["ThrottlingRateLimit"] = 100


def beginners_wait(templates: Templates) -> None:
    [acl] = at(templates, "api/Firewall/Acl")
    for rule in acl["Properties"]["Rules"]:
        if rule["Name"] == "rate-of-one-credential-begins-work":
            rule["Statement"]["RateBasedStatement"]["Limit"] = 60


def budget_of_another_load(templates: Templates) -> None:
    templates.resource("AWS::Budgets::Budget")["Properties"]["Budget"]["BudgetLimit"]["Amount"] = 500


def jobs_expect_other_workers(templates: Templates) -> None:
    function(templates, "api")["Properties"]["Environment"]["Variables"]["TESSERA_MOST_WORKERS"] = "3"


def too_few_shards_in_flight(templates: Templates) -> None:
    [relay] = at(templates, "api/Functions/relay/Resource")
    relay["Properties"]["Environment"]["Variables"]["TESSERA_SHARDS_IN_FLIGHT"] = "3"


FAULTS = (
    Fault(
        "waiting jobs are told by another number of workers",
        jobs_expect_other_workers,
        (derived.test_a_waiting_job_is_told_by_the_bound_of_the_workers,),
    ),
    Fault(
        "the relay keeps back shards that would start further workers",
        too_few_shards_in_flight,
        (derived.test_as_many_shards_are_in_flight_as_start_all_workers,),
    ),
    Fault(
        "GPU workers end at a number that the load did not give",
        bound("gpu-worker", 5),
        (derived.test_the_load_bounds_the_workers,),
    ),
    Fault(
        "heavy workers end at a number that the load did not give",
        bound("heavy-worker", 1),
        (derived.test_the_load_bounds_the_workers,),
    ),
    Fault(
        "functions run less often at once than the load asks for",
        set_at("api/Functions/inspect-inspect/Resource", ScalingConfig={"MaximumConcurrency": 2}),
        (derived.test_the_load_bounds_the_calls_of_functions,),
    ),
    Fault(
        "the gateway lets through fewer requests than the load asks for",
        one_rate_for_all_loads,
        (derived.test_the_load_bounds_requests,),
    ),
    Fault(
        "one credential begins less than the load asks for",
        beginners_wait,
        (derived.test_the_load_bounds_requests,),
    ),
    Fault(
        "the budget is that of another load",
        budget_of_another_load,
        (derived.test_the_load_gives_the_budget,),
    ),
    Fault(
        "private subnets are too small for the nodes",
        subnets_of_256,
        (derived.test_the_subnets_have_the_planned_addresses,),
    ),
    Fault(
        "every node keeps a free interface",
        a_free_interface_a_node,
        (derived.test_a_node_takes_the_planned_addresses,),
    ),
)
