"""The cluster autoscaler: which nodes it starts for which pods, when it takes them away, and what it may do in AWS."""

from __future__ import annotations

import json
import re

from adapters.settings import scaling
from cdk.cluster.placement import GPU_ON_DEMAND, GPU_SPOT, SYSTEM
from tests.cdk.cluster.test_cluster import cluster
from tests.cdk.cluster.test_node_groups import node_groups
from tests.cdk.manifests import chart_values, one_object
from tests.cdk.templates import Templates
from tests.cdk.workload.test_controllers import AUTOSCALER, rights
from tests.cdk.workload.test_workload import warm_pods


def arguments(templates: Templates) -> dict[str, str]:
    """Of the autoscaler."""
    return chart_values(templates, AUTOSCALER)["extraArgs"]


def seconds(duration: str) -> int:
    number, unit = re.fullmatch(r"(\d+)([smh])", duration).groups()  # pyright: ignore[reportOptionalMemberAccess]
    return int(number) * {"s": 1, "m": 60, "h": 3600}[unit]


def test_the_autoscaler_finds_the_groups_of_this_cluster(templates: Templates) -> None:
    values = chart_values(templates, AUTOSCALER)
    assert values["autoDiscovery"]["clusterName"] == cluster(templates)["Name"]
    assert values["awsRegion"] == templates.deployment.region


def test_the_autoscaler_changes_the_groups_of_this_cluster_alone(templates: Templates) -> None:
    writes = [
        one for one in rights(templates, "Autoscaler") if not all(":Describe" in action for action in one.actions)
    ]
    [write] = writes
    assert set(write.actions) == {"autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"}
    tag = f"aws:ResourceTag/k8s.io/cluster-autoscaler/{cluster(templates)['Name']}"
    assert write.said["Condition"] == {"StringEquals": {tag: "owned"}}
    assert "*" not in write.resources


def test_the_autoscaler_can_read_what_a_group_without_nodes_would_have(templates: Templates) -> None:
    """Labels and taints of the node group, GPUs of the instance type, and whether spot had capacity (0023)."""
    allowed = {action for statement in rights(templates, "Autoscaler") for action in statement.actions}
    assert allowed >= {
        *("eks:DescribeNodegroup", "ec2:DescribeInstanceTypes", "ec2:DescribeLaunchTemplateVersions"),
        *("autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeScalingActivities"),
    }
    [describe] = [one for one in rights(templates, "Autoscaler") if one.actions == ["eks:DescribeNodegroup"]]
    assert f":nodegroup/{cluster(templates)['Name']}/*" in json.dumps(describe.resources)


def priority(templates: Templates, pool: str) -> int:
    """Of the group of instances that EKS makes for a node group."""
    name = f"eks-{node_groups(templates)[pool]['NodegroupName']}-7cc5a1f2-0f4b-9d3c-1a55-9a8e2f6f2b11"
    listed = chart_values(templates, AUTOSCALER)["expanderPriorities"].items()
    return max(int(number) for number, patterns in listed if any(re.search(one, name) for one in patterns))


def test_spot_comes_before_on_demand_F20(templates: Templates) -> None:
    assert arguments(templates)["expander"].split(",")[0] == "priority"
    assert priority(templates, GPU_SPOT) > priority(templates, GPU_ON_DEMAND) > 0
    assert priority(templates, SYSTEM) > 0, "a group without a priority never grows"


def test_scale_ups_are_not_shared_with_on_demand_nodes(templates: Templates) -> None:
    """Groups of nodes that look alike would get one each."""
    assert arguments(templates).get("balance-similar-node-groups", "false") == "false"


def test_nodes_go_when_the_simulation_says_so(templates: Templates) -> None:
    given = arguments(templates)
    for name in ("scale-down-unneeded-time", "scale-down-delay-after-add"):
        assert seconds(given[name]) == scaling.NODE_UNNEEDED_SECONDS
    assert given["skip-nodes-with-local-storage"] == "false", "all our pods have volumes on their node"


def test_a_node_that_does_not_come_is_given_up_for_another(templates: Templates) -> None:
    assert 5 * 60 <= seconds(arguments(templates)["max-node-provision-time"]) <= 10 * 60


def test_pods_that_hold_warm_nodes_start_nodes_F15(prod: Templates) -> None:
    cutoff = int(arguments(prod)["expendable-pods-priority-cutoff"])
    assert warm_pods(prod)
    for pod in warm_pods(prod):
        assert one_object(prod, "PriorityClass", pod["priorityClassName"])["value"] >= cutoff
