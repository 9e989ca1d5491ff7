"""Where pods of workers find a node, and what is there before them and gone after them."""

from __future__ import annotations

from typing import Any

from tests.cdk.manifests import CHART, MANIFEST, objects
from tests.cdk.templates import Resource, Templates
from tests.cdk.workload.test_pods import INSTANCES, all_pods, template
from tests.cdk.workload.test_workload import scaled_jobs

KEDA_API = "keda.sh/v1alpha1"


def node_groups(templates: Templates, selector: dict[str, str]) -> list[dict[str, Any]]:
    """Those whose nodes have all labels of `selector`."""
    groups = [found["Properties"] for found in templates.resources("AWS::EKS::Nodegroup").values()]
    return [group for group in groups if selector.items() <= group["Labels"].items()]


def tolerated(taint: dict[str, str], pod: dict[str, Any]) -> bool:
    effect = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute"}[taint["Effect"]]
    return any(
        one["key"] == taint["Key"]
        and one["effect"] == effect
        and (one.get("operator") == "Exists" or one.get("value") == taint["Value"])
        for one in pod.get("tolerations", [])
    )


def test_every_pod_finds_nodes_with_its_labels(templates: Templates) -> None:
    for pod in all_pods(templates):
        assert pod["nodeSelector"]
        assert node_groups(templates, pod["nodeSelector"]), pod["nodeSelector"]


def test_every_pod_tolerates_the_taints_of_its_nodes(templates: Templates) -> None:
    for pod in all_pods(templates):
        for group in node_groups(templates, pod["nodeSelector"]):
            assert all(tolerated(taint, pod) for taint in group.get("Taints", [])), group["NodegroupName"]


def test_pods_without_a_GPU_stay_away_from_GPU_nodes(templates: Templates) -> None:
    for pod in all_pods(templates):
        needs = "nvidia.com/gpu" in str([one["resources"] for one in pod["containers"]])
        for group in node_groups(templates, pod["nodeSelector"]):
            assert ("NVIDIA" in group["AmiType"]) == needs


def test_workers_go_to_spot_and_where_that_is_dry_to_on_demand_nodes_F20(templates: Templates) -> None:
    [pod] = [pod for pod in all_pods(templates) if pod["priorityClassName"] == "tessera-worker"]
    found = node_groups(templates, pod["nodeSelector"])
    assert {group["CapacityType"] for group in found} == {"SPOT", "ON_DEMAND"}
    nodes = sum(group["ScalingConfig"]["MaxSize"] for group in found)
    [most] = [job["spec"]["maxReplicaCount"] for job in scaled_jobs(templates) if template(job)["spec"] == pod]
    assert most <= nodes
    for group in found:
        assert {name in INSTANCES for name in group["InstanceTypes"]} == {True}


def test_images_are_built_for_the_processors_of_their_nodes(templates: Templates) -> None:
    for pod in all_pods(templates):
        for group in node_groups(templates, pod["nodeSelector"]):
            assert group["AmiType"].startswith("AL2023_x86_64"), "the worker's image is linux/amd64"


def before(templates: Templates, resource: Resource) -> list[Resource]:
    """What CloudFormation makes before `resource` in its stack, and deletes after it."""
    all_of_it = templates.by_noun["workload"]["Resources"]
    ids = _listed(resource.get("DependsOn", []))
    seen: set[str] = set()
    while ids:
        if (id := ids.pop()) not in seen:
            seen.add(id)
            ids += _listed(all_of_it[id].get("DependsOn", []))
    return [all_of_it[id] for id in seen]


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def of_keda(templates: Templates) -> list[Resource]:
    """Resources whose objects KEDA acts upon."""
    made = templates.resources(MANIFEST, "workload").values()
    found = [one for one in made if KEDA_API in str(one["Properties"]["Manifest"])]
    assert len(found) >= len(scaled_jobs(templates)) + 1
    return found


def kinds(resources: list[Resource]) -> str:
    return " ".join(str(one["Properties"].get("Manifest", "")) for one in resources)


def test_KEDA_is_there_before_its_objects_and_goes_after_them_F54_F56(templates: Templates) -> None:
    for resource in of_keda(templates):
        charts = [one["Properties"]["Chart"] for one in before(templates, resource) if one["Type"] == CHART]
        assert "keda" in charts


def test_a_worker_comes_to_a_namespace_that_is_shut_and_goes_before_it_F56(templates: Templates) -> None:
    for resource in of_keda(templates):
        ready = kinds(before(templates, resource))
        assert '"kind":"Namespace","metadata":{"name":"tessera"' in ready
        if '"kind":"ScaledJob"' in str(resource["Properties"]["Manifest"]):
            for kind in ("NetworkPolicy", "PriorityClass", "ServiceAccount", "TriggerAuthentication"):
                assert f'"kind":"{kind}"' in ready, kind


def test_a_worker_has_its_rights_and_its_door_before_it_comes(templates: Templates) -> None:
    for resource in of_keda(templates):
        if '"kind":"ScaledJob"' in str(resource["Properties"]["Manifest"]):
            types = {one["Type"] for one in before(templates, resource)}
            assert {"AWS::IAM::Policy", "AWS::EKS::PodIdentityAssociation", "AWS::EC2::SecurityGroupIngress"} <= types


def test_migrations_and_nodes_come_before_all_of_it_F52_F54(templates: Templates) -> None:
    assert {"data", "cluster"} <= templates.after["workload"]
    assert objects(templates, "ScaledJob")
