"""The nodes: which, where, how many, on what disk, and what a pod finds there."""

from __future__ import annotations

import email
import json
from typing import Any

import pytest
import yaml

from cdk.cluster.placement import GPU_LABELS, GPU_ON_DEMAND, GPU_SPOT, GPU_TAINT, POOL, SYSTEM, SYSTEM_LABELS
from tests.cdk.manifests import one_object
from tests.cdk.templates import Templates, synthesized
from tests.cdk.workload.test_pods import GIB, INSTANCES, amount, container, written_volumes

#: Processors and GiB (AWS, Instance types, 2026).
SYSTEM_INSTANCES = dict.fromkeys(("r7i.large", "r6i.large", "r7a.large", "r6a.large"), (2, 16))
#: What DaemonSets and one replica of every controller ask for on a system node; its sum: workload/test_controllers.py.
CONTROLLERS_PROCESSORS, CONTROLLERS_MEMORY = 0.75, 1.5 * GIB


@pytest.fixture(scope="module")
def chosen() -> Templates:
    """Spot of one type alone."""
    return synthesized(environment="dev", gpu_instance_types="g6.2xlarge", uses_on_demand_gpus=False)


def node_groups(templates: Templates) -> dict[str, dict[str, Any]]:
    """Properties by pool."""
    found = [group["Properties"] for group in templates.resources("AWS::EKS::Nodegroup").values()]
    return {group["Labels"][POOL]: group for group in found}


def gpu_groups(templates: Templates) -> dict[str, dict[str, Any]]:
    return {pool: group for pool, group in node_groups(templates).items() if pool != SYSTEM}


def launch_template(templates: Templates, group: dict[str, Any]) -> dict[str, Any]:
    return templates.resources("AWS::EC2::LaunchTemplate")[group["LaunchTemplate"]["Id"]["Ref"]]["Properties"][
        "LaunchTemplateData"
    ]


def node_config(templates: Templates, group: dict[str, Any]) -> dict[str, Any]:
    """What nodeadm reads of the group's user data, as it comes to the node."""
    archive = email.message_from_string(launch_template(templates, group)["UserData"]["Fn::Base64"])
    assert archive.get_content_type() == "multipart/mixed"
    [part] = list(archive.walk())[1:]
    assert part.get_content_type() == "application/node.eks.aws"
    return yaml.safe_load(str(part.get_payload()))


def test_gpus_are_to_be_had_on_spot_and_where_it_has_none_on_demand_F20(templates: Templates) -> None:
    groups = node_groups(templates)
    assert set(groups) == {SYSTEM, GPU_SPOT, GPU_ON_DEMAND}
    assert {pool: group["CapacityType"] for pool, group in groups.items()} == {
        SYSTEM: "ON_DEMAND",
        GPU_SPOT: "SPOT",
        GPU_ON_DEMAND: "ON_DEMAND",
    }


def test_spot_is_asked_for_in_every_zone_and_four_types_F20(templates: Templates) -> None:
    for group in gpu_groups(templates).values():
        assert len(group["InstanceTypes"]) >= 4
        assert len(group["Subnets"]) == len(templates.deployment.zones)
        assert all("private" in json.dumps(subnet) for subnet in group["Subnets"])


def test_gpu_nodes_cost_nothing_while_there_is_no_work(templates: Templates) -> None:
    for group in gpu_groups(templates).values():
        assert group["ScalingConfig"]["MinSize"] == group["ScalingConfig"]["DesiredSize"] == 0


def test_without_a_fallback_there_is_no_group_for_it(chosen: Templates) -> None:
    assert set(node_groups(chosen)) == {SYSTEM, GPU_SPOT}


def test_controllers_outlive_a_zone(templates: Templates) -> None:
    group = node_groups(templates)[SYSTEM]
    assert group["ScalingConfig"]["MinSize"] >= 2
    assert len(group["Subnets"]) == len(templates.deployment.zones)


def test_a_group_holds_nodes_of_one_size(templates: Templates) -> None:
    """The autoscaler takes the first type of a group for all of them."""
    for group in gpu_groups(templates).values():
        assert len({INSTANCES[name][0] for name in group["InstanceTypes"]}) == 1
    sizes = {SYSTEM_INSTANCES[name] for name in node_groups(templates)[SYSTEM]["InstanceTypes"]}
    assert len(sizes) == 1


def test_gpu_nodes_take_pods_for_gpus_alone_F18(templates: Templates) -> None:
    for group in gpu_groups(templates).values():
        assert group["Labels"].items() >= GPU_LABELS.items()
        assert group["Taints"] == [{"Key": GPU_TAINT["key"], "Value": GPU_TAINT["value"], "Effect": "NO_SCHEDULE"}]
        assert group["AmiType"] == "AL2023_x86_64_NVIDIA"
    system = node_groups(templates)[SYSTEM]
    assert not system["Taints"]
    assert system["Labels"] == SYSTEM_LABELS
    assert system["AmiType"] == "AL2023_x86_64_STANDARD", "the worker's image is built for x86_64"


def test_the_autoscaler_waits_for_the_gpu_of_a_fresh_node(templates: Templates) -> None:
    """Its label for GPUs in the cloud provider of AWS; without it a second node comes for the same pod."""
    for group in gpu_groups(templates).values():
        assert "k8s.amazonaws.com/accelerator" in group["Labels"]


def test_a_group_that_must_be_replaced_gets_another_name(chosen: Templates, dev: Templates) -> None:
    """CloudFormation makes the new one first, and two of one name cannot be."""
    names = [node_groups(templates)[GPU_SPOT]["NodegroupName"] for templates in (chosen, dev)]
    assert len(set(names)) == 2
    assert all(name.startswith(f"{GPU_SPOT}-") for name in names)
    assert node_groups(chosen)[SYSTEM]["NodegroupName"] == node_groups(dev)[SYSTEM]["NodegroupName"]


def test_nodes_follow_the_version_of_the_cluster(templates: Templates) -> None:
    version = templates.resource("AWS::EKS::Cluster")["Properties"]["Version"]
    assert {group["Version"] for group in node_groups(templates).values()} == {version}


def test_pods_do_not_reach_the_credentials_of_their_node(templates: Templates) -> None:
    for group in node_groups(templates).values():
        assert launch_template(templates, group)["MetadataOptions"] == {
            "HttpTokens": "required",
            "HttpPutResponseHopLimit": 1,
        }


def test_nodes_have_the_security_group_of_the_cluster(templates: Templates) -> None:
    """EKS gives it to nodes whose template names no other; the database's proxy lets that one in."""
    for group in node_groups(templates).values():
        assert (
            not {"SecurityGroupIds", "SecurityGroups", "NetworkInterfaces"} & launch_template(templates, group).keys()
        )


def test_disks_of_nodes_are_encrypted(templates: Templates) -> None:
    for group in node_groups(templates).values():
        [device] = launch_template(templates, group)["BlockDeviceMappings"]
        assert device["DeviceName"] == "/dev/xvda", "another name adds a second disk"
        assert device["Ebs"]["Encrypted"] is True
        assert device["Ebs"]["VolumeType"] == "gp3"


def test_images_and_scratch_of_gpu_nodes_lie_on_their_nvme_F16(templates: Templates) -> None:
    for group in gpu_groups(templates).values():
        config = node_config(templates, group)
        assert (config["apiVersion"], config["kind"]) == ("node.eks.aws/v1alpha1", "NodeConfig")
        assert config["spec"]["instance"]["localStorage"]["strategy"] == "RAID0"


def test_the_layers_of_an_image_come_side_by_side_F16(templates: Templates) -> None:
    for group in gpu_groups(templates).values():
        assert node_config(templates, group)["spec"]["featureGates"] == {"FastImagePull": True}


def test_an_update_of_gpu_nodes_starts_none_that_nobody_needs(templates: Templates) -> None:
    for group in gpu_groups(templates).values():
        assert group["UpdateConfig"] == {"MaxUnavailable": 1, "UpdateStrategy": "MINIMAL"}


def test_a_heavy_plan_fits_on_a_system_node_beside_the_controllers(templates: Templates) -> None:
    asked = container(one_object(templates, "ScaledJob", "heavy-worker"))["resources"]["requests"]
    for name in node_groups(templates)[SYSTEM]["InstanceTypes"]:
        processors, gib = SYSTEM_INSTANCES[name]
        pods = 29  # three network interfaces with ten addresses each
        free_memory = gib * GIB * 0.925 - (255 + 11 * pods + 100) * 1024**2
        assert amount(asked["cpu"]) + CONTROLLERS_PROCESSORS <= processors - 0.07, name
        assert amount(asked["memory"]) + CONTROLLERS_MEMORY <= free_memory, name


def test_as_many_heavy_plans_as_are_started_find_a_node(templates: Templates) -> None:
    most = one_object(templates, "ScaledJob", "heavy-worker")["spec"]["maxReplicaCount"]
    assert node_groups(templates)[SYSTEM]["ScalingConfig"]["MaxSize"] >= most


def test_what_a_heavy_plan_writes_fits_on_the_disk_of_a_system_node(templates: Templates) -> None:
    job = one_object(templates, "ScaledJob", "heavy-worker")
    written = sum(amount(volume["sizeLimit"]) for volume in written_volumes(job).values() if "medium" not in volume)
    [device] = launch_template(templates, node_groups(templates)[SYSTEM])["BlockDeviceMappings"]
    images_and_system = 30 * GIB
    assert written + images_and_system <= 0.85 * device["Ebs"]["VolumeSize"] * GIB
