from __future__ import annotations

import copy
from functools import partial

from tests.cdk import test_costs as costs
from tests.cdk.faults.fault import Fault, at, set_at, without
from tests.cdk.manifests import change_objects
from tests.cdk.templates import Templates


def double(templates: Templates, path: str) -> None:
    """Add a copy of the resource at this path to its stack."""
    noun = path.partition("/")[0]
    resources = templates.by_noun[noun]["Resources"]
    [(id, found)] = [(id, one) for id, one in resources.items() if one in at(templates, path)]
    resources[f"{id}Copy"] = copy.deepcopy(found)


def an_interface_endpoint(templates: Templates) -> None:
    [endpoint] = templates.resources("AWS::EC2::VPCEndpoint", "network").values()
    endpoint["Properties"]["VpcEndpointType"] = "Interface"


def one_trigger_less(templates: Templates) -> None:
    change_objects(templates, "ScaledJob", lambda found: found["spec"]["triggers"].pop())


def doubled(path: str) -> partial[None]:
    return partial(double, path=path)


FAULTS = (
    Fault(
        "the bill forgets a gateway",
        doubled("network/Vpc/publicSubnet1/NATGateway"),
        (costs.test_gateways_and_databases_are_those_of_the_bill,),
    ),
    Fault(
        "the bill forgets the standby of the database",
        set_at("data/Database/Instance/Resource", MultiAZ=False),
        (costs.test_gateways_and_databases_are_those_of_the_bill,),
    ),
    Fault(
        "the bill forgets a key",
        doubled("data/Key/Resource"),
        (costs.test_keys_secrets_and_rules_of_the_firewall_are_those_of_the_bill,),
    ),
    Fault(
        "the bill forgets an alarm",
        doubled("observability/Alarms/api-errors/Resource"),
        (costs.test_alarms_and_dashboards_are_those_of_the_bill,),
    ),
    Fault(
        "the bill counts a metric that nobody writes",
        without("observability/Metrics/AuthorizerFailures/Resource"),
        (costs.test_own_metrics_are_those_of_the_bill,),
    ),
    Fault(
        "the bill counts polls that nobody sends",
        one_trigger_less,
        (costs.test_what_polls_without_work_is_that_of_the_bill,),
    ),
    Fault(
        "an endpoint is charged by the hour",
        an_interface_endpoint,
        (costs.test_everything_else_that_costs_while_idle_is_there_once,),
    ),
)
