"""The controllers of the cluster: which version, where they run, what they may do, what they are told."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from cdk.cluster.placement import GPU_LABELS, GPU_ON_DEMAND, GPU_SPOT, POOL, SYSTEM, SYSTEM_LABELS, SYSTEM_NAMESPACE
from tests.cdk.cluster.test_cluster import cluster, configuration
from tests.cdk.cluster.test_node_groups import CONTROLLERS_MEMORY, CONTROLLERS_PROCESSORS, gpu_groups, node_groups
from tests.cdk.exporters import EXPORTED
from tests.cdk.manifests import CHART, Object, chart_values, objects
from tests.cdk.policies import Statement, statements
from tests.cdk.templates import Resource, Templates
from tests.cdk.workload.test_order import before
from tests.cdk.workload.test_pods import DAEMONS_MEMORY, DAEMONS_PROCESSORS, MIB, amount
from tests.cdk.workload.test_workload import scaled_jobs, triggers

KEDA, AUTOSCALER, PLUGIN, DCGM, STATES = (
    *("keda", "cluster-autoscaler", "nvidia-device-plugin", "dcgm-exporter", "kube-state-metrics"),
)
#: What EKS' own DaemonSets ask for: network, proxy, identity, monitoring (their charts, 2026).
EKS_DAEMONS_PROCESSORS, EKS_DAEMONS_MEMORY = 0.25, 128 * MIB
DNS_PROCESSORS, DNS_MEMORY = 0.1, 70 * MIB


def charts(templates: Templates) -> dict[str, Resource]:
    return {found["Properties"]["Chart"]: found for found in templates.resources(CHART).values()}


def version(templates: Templates, chart: str) -> tuple[int, ...]:
    return tuple(map(int, charts(templates)[chart]["Properties"]["Version"].split(".")))


def rights(templates: Templates, controller: str) -> list[Statement]:
    """Statements of the role of one of the controllers."""
    path = f"workload/Controllers/{controller}/Account/Role/DefaultPolicy/Resource"
    found = [statement for statement in statements(templates) if statement.path == path]
    assert found
    return found


# --- charts


def test_controllers_are_those_that_we_know(templates: Templates) -> None:
    assert set(charts(templates)) == {KEDA, AUTOSCALER, PLUGIN, DCGM, STATES}


def test_charts_are_pinned_to_a_version(templates: Templates) -> None:
    for name, chart in charts(templates).items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", chart["Properties"]["Version"]), name


def test_KEDA_is_new_enough_for_our_strategy_F11(templates: Templates) -> None:
    assert version(templates, KEDA) >= (2, 19, 0)


def test_the_autoscaler_is_of_the_clusters_version(templates: Templates) -> None:
    tag = chart_values(templates, AUTOSCALER)["image"]["tag"]
    assert re.fullmatch(rf"v{re.escape(cluster(templates)['Version'])}\.\d+", tag)


def test_a_chart_waits_shorter_than_the_function_that_installs_it_F55(templates: Templates) -> None:
    for name, chart in charts(templates).items():
        given = chart["Properties"]
        assert (given["Wait"], given["Atomic"]) == (True, True), name
        assert int(given["Timeout"].removesuffix("s")) <= 600, name


def test_a_chart_comes_to_a_namespace_that_is_there(templates: Templates) -> None:
    for name, chart in charts(templates).items():
        namespace = chart["Properties"]["Namespace"]
        assert "CreateNamespace" not in chart["Properties"], name
        if namespace != SYSTEM_NAMESPACE:
            made = json.dumps([resource["Properties"].get("Manifest", "") for resource in before(templates, chart)])
            assert re.search(rf'\\"kind\\":\\"Namespace\\",\\"metadata\\":{{\\"name\\":\\"{namespace}\\"', made), name


def test_controllers_come_after_the_nodes_and_go_before_them_F54_F56(templates: Templates) -> None:
    assert "cluster" in templates.after["workload"]
    assert set(node_groups(templates)) == {SYSTEM, GPU_SPOT, GPU_ON_DEMAND}


def test_a_worker_comes_when_the_nodes_for_it_can_be_made_F18(templates: Templates) -> None:
    jobs = [
        r
        for r in templates.by_noun["workload"]["Resources"].values()
        if '"ScaledJob"' in json.dumps(r).replace("\\", "")
    ]
    assert len(jobs) == len(scaled_jobs(templates))
    for job in jobs:
        ready = {one["Properties"]["Chart"] for one in before(templates, job) if one["Type"] == CHART}
        assert {KEDA, AUTOSCALER, PLUGIN} <= ready


# --- where they run


@pytest.mark.parametrize("name", [KEDA, AUTOSCALER, STATES])
def test_controllers_never_run_on_gpu_nodes_F14(templates: Templates, name: str) -> None:
    assert chart_values(templates, name)["nodeSelector"] == SYSTEM_LABELS
    for group in gpu_groups(templates).values():
        assert not group["Labels"].items() >= SYSTEM_LABELS.items()


def daemons(templates: Templates) -> dict[str, list[dict[str, Any]]]:
    """Tolerations of all that must run on GPU nodes, by name."""
    ours = {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in objects(templates, "DaemonSet")}
    return {
        **{name: chart_values(templates, name)["tolerations"] for name in (PLUGIN, DCGM)},
        "dcgm-server": configuration(templates, "eks-node-monitoring-agent")["dcgmAgent"]["tolerations"],
        **{name: pod["tolerations"] for name, pod in ours.items()},
    }


def tolerates(tolerations: list[dict[str, Any]], taint: dict[str, str]) -> bool:
    effect = {"NO_SCHEDULE": "NoSchedule"}[taint["Effect"]]
    return any(
        one.get("key", taint["Key"]) == taint["Key"]
        and one.get("effect", effect) == effect
        and (one["operator"] == "Exists" or one["value"] == taint["Value"])
        for one in tolerations
    )


def test_every_daemon_tolerates_every_taint_of_gpu_nodes_F18(templates: Templates) -> None:
    taints = [taint for group in gpu_groups(templates).values() for taint in group["Taints"]]
    assert taints
    for name, tolerations in daemons(templates).items():
        for taint in taints:
            assert tolerates(tolerations, taint), name


def test_what_serves_gpus_runs_on_their_nodes_alone(templates: Templates) -> None:
    affinity = chart_values(templates, PLUGIN)["affinity"]["nodeAffinity"]
    [term] = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    wanted = {one["key"]: one["values"] for one in term["matchExpressions"]}
    assert {one["operator"] for one in term["matchExpressions"]} == {"In"}
    assert wanted == {key: [value] for key, value in GPU_LABELS.items()}
    assert chart_values(templates, DCGM)["nodeSelector"] == GPU_LABELS
    for pool, group in node_groups(templates).items():
        assert (group["Labels"].items() >= GPU_LABELS.items()) == (pool != SYSTEM)


def test_daemons_leave_a_worker_its_node(templates: Templates) -> None:
    """test_pods.py reckons with these sums."""
    asked = [chart_values(templates, name)["resources"]["requests"] for name in (PLUGIN, DCGM)]
    asked += [_requests(one) for one in objects(templates, "DaemonSet")]
    assert sum(amount(one["cpu"]) for one in asked) + EKS_DAEMONS_PROCESSORS <= DAEMONS_PROCESSORS
    assert sum(amount(one["memory"]) for one in asked) + EKS_DAEMONS_MEMORY <= DAEMONS_MEMORY


def test_controllers_leave_a_heavy_plan_its_node(templates: Templates) -> None:
    """cluster/test_node_groups.py reckons with these sums: all of them on one node, when the other has just gone."""
    keda = chart_values(templates, KEDA)["resources"].values()
    asked = [one["requests"] for one in keda]
    asked += [chart_values(templates, name)["resources"]["requests"] for name in (AUTOSCALER, STATES)]
    asked += [_requests(one) for one in objects(templates, "DaemonSet")]
    processors = sum(amount(one["cpu"]) for one in asked) + EKS_DAEMONS_PROCESSORS + DNS_PROCESSORS
    memory = sum(amount(one["memory"]) for one in asked) + EKS_DAEMONS_MEMORY + DNS_MEMORY
    assert processors <= CONTROLLERS_PROCESSORS
    assert memory <= CONTROLLERS_MEMORY


def _requests(daemon_set: Object) -> dict[str, str]:
    [container] = daemon_set["spec"]["template"]["spec"]["containers"]
    return container["resources"]["requests"]


# --- KEDA


def test_KEDA_reads_the_queues_of_its_triggers_and_no_more(templates: Templates) -> None:
    [statement] = rights(templates, "Keda")
    assert statement.actions == ["sqs:GetQueueAttributes"]
    urls = {trigger["metadata"]["queueURL"] for job in scaled_jobs(templates) for trigger in triggers(job)}
    asked = {re.search(r"Queues([a-z]+)[0-9A-F]{8}", url).group(1) for url in urls}  # pyright: ignore[reportOptionalMemberAccess]
    granted = [re.search(r"Queues([a-z]+)[0-9A-F]{8}", json.dumps(one)) for one in statement.resources]
    assert asked == {found.group(1) for found in granted if found}
    assert len(granted) == len(asked)


def test_pods_of_controllers_get_the_roles_made_for_them(templates: Templates) -> None:
    accounts = {
        (found["Properties"]["Namespace"], found["Properties"]["ServiceAccount"])
        for found in templates.resources("AWS::EKS::PodIdentityAssociation", "workload").values()
    }
    keda = chart_values(templates, KEDA)["serviceAccount"]["operator"]["name"]
    autoscaler = chart_values(templates, AUTOSCALER)["rbac"]["serviceAccount"]["name"]
    assert {("keda", keda), (SYSTEM_NAMESPACE, autoscaler)} <= accounts


@pytest.mark.parametrize("name", [KEDA, AUTOSCALER])
def test_a_controller_begins_when_it_has_its_role(templates: Templates, name: str) -> None:
    types = {one["Type"] for one in before(templates, charts(templates)[name])}
    assert {"AWS::EKS::PodIdentityAssociation", "AWS::IAM::Policy"} <= types


def test_workers_outlive_the_chart_of_KEDA_F56(templates: Templates) -> None:
    crds = chart_values(templates, KEDA)["crds"]
    assert crds == {"install": True, "additionalAnnotations": {"helm.sh/resource-policy": "keep"}}


def test_KEDA_outlives_a_node(templates: Templates) -> None:
    values = chart_values(templates, KEDA)
    for part in ("operator", "metricsServer", "webhooks"):
        assert values[part]["replicaCount"] >= 2
        assert values["topologySpreadConstraints"][part]
    assert set(values["podDisruptionBudget"]) == {"operator", "metricServer", "webhooks"}


# --- what they tell


def test_whoever_tells_of_something_is_read(templates: Templates) -> None:
    ports = {
        "keda-operator": chart_values(templates, KEDA)["podAnnotations"]["keda"],
        "dcgm-exporter": chart_values(templates, DCGM)["podAnnotations"],
        "kube-state-metrics": chart_values(templates, STATES)["podAnnotations"],
    }
    assert set(EXPORTED) - set(ports) == {"gpu-worker"}
    assert {told["prometheus.io/scrape"] for told in ports.values()} == {"true"}
    told = chart_values(templates, KEDA)["prometheus"]["operator"]
    assert told == {"enabled": True, "port": int(ports["keda-operator"]["prometheus.io/port"])}
    assert set(chart_values(templates, STATES)["collectors"]) >= {"pods", "jobs", "nodes"}


def test_the_exporter_of_gpus_is_not_killed_for_its_memory_F25(templates: Templates) -> None:
    assert amount(chart_values(templates, DCGM)["resources"]["limits"]["memory"]) >= 512 * MIB


def test_no_chart_asks_for_an_operator_that_is_not_there(templates: Templates) -> None:
    assert chart_values(templates, DCGM)["serviceMonitor"] == {"enabled": False}


def test_labels_of_pools_are_those_of_the_groups(templates: Templates) -> None:
    for pool, group in node_groups(templates).items():
        assert group["Labels"][POOL] == pool
        assert group["NodegroupName"].startswith(f"{pool}-")
