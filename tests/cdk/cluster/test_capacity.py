"""How many nodes there are: the autoscaler and KEDA decide it, and no deployment resets what they decided."""

from __future__ import annotations

from typing import Any

import pytest

from cdk.deployment import MOST_GPU_NODES, Deployment
from tests.cdk.cluster.test_node_groups import gpu_groups, node_groups
from tests.cdk.conftest import PRODUCTION
from tests.cdk.manifests import objects, one_object
from tests.cdk.templates import Resource, Templates, synthesized

#: Settings that choose nodes, or the place of all that there is: their change replaces whole groups of nodes.
CHOOSE_NODES = {
    *("environment", "region", "availability_zones", "private_subnet_mask"),
    *("gpu_instance_types", "uses_on_demand_gpus", "emulated"),
}
#: Another value of each other setting.
ORDINARY = {
    "domain": "slides.example.org",
    "certificate_arn": "arn:aws:acm:us-east-1:111122223333:certificate/other",
    "page_origins": "https://lab.example.org",
    "mail_from": "slides@example.org",
    "allowed_buckets": "lab-slides",
    "allowed_bucket_keys": "arn:aws:kms:eu-central-1:111122223333:key/x",
    "slides_per_day": 10_000,
    "tiles_per_slide": 20_000,
    "tiles_per_gpu_second": 250,
    "peak_factor": 3,
    "max_gpu_workers": 100,
    "warm_nodes": 3,
    "warm_hours": {"start": "0 6 * * *"},
    "dollars_per_gpu_hour": 0.7,
    "cluster_admin_role_arn": "arn:aws:iam::111122223333:role/operator",
    "cluster_endpoint_cidrs": "203.0.113.7/32",
    "database_instance_type": "m7g.xlarge",
    "database_multi_az": False,
    "nat_gateways": 2,
    "backup_days": 8,
    "recovery_region": "eu-west-1",
    "keeps_data": False,
    "instant_retrieval_after_days": 60,
    "log_days": 30,
    "audit_days": 90,
    "alarm_email": "night@example.org",
    "monthly_budget_dollars": 9_000,
    "trace_share": 0.1,
    "unusual_costs": "nobody",
    "worker_image": "111122223333.dkr.ecr.eu-central-1.amazonaws.com/worker:2",
    "sign_on": {
        "name": "Hospital",
        "metadata_url": "https://sign-in.example.org/metadata.xml",
        "groups": "groups",
        "roles": {"readers": {"tenant": "pathology", "role": "viewer"}},
    },
    "demands_second_factor": False,
    "worker_base": f"public.ecr.aws/docker/library/python:3.11-slim@sha256:{'0' * 64}",
}


#: Settings that begin an installation, most of them after a loss, and stay.
OF_A_NEW_ONE = {"adopted_buckets", "adopted_key_arn", "restored_from", "object_lock"}


@pytest.fixture(scope="module")
def changed() -> Templates:
    """Prod after every ordinary setting changed at once."""
    return synthesized(**{"environment": "prod", **PRODUCTION, **ORDINARY})


def find_capacity(templates: Templates) -> dict[str, Resource]:
    """All that decides how many machines there are and which, by logical id. The limits of KEDA are not among it."""
    types = ("AWS::EKS::Nodegroup", "AWS::EC2::LaunchTemplate", "AWS::AutoScaling::AutoScalingGroup")
    return {id: found for type in types for id, found in templates.resources(type).items()}


def list_scaled(templates: Templates) -> list[dict[str, Any]]:
    """The deployments that KEDA scales."""
    names = {found["spec"]["scaleTargetRef"]["name"] for found in objects(templates, "ScaledObject")}
    return [found for found in objects(templates, "Deployment") if found["metadata"]["name"] in names]


def test_every_setting_is_ordinary_or_chooses_nodes() -> None:
    assert ORDINARY.keys() | CHOOSE_NODES | OF_A_NEW_ONE == Deployment.model_fields.keys()
    assert not ORDINARY.keys() & CHOOSE_NODES


def test_every_ordinary_setting_is_another(changed: Templates, prod: Templates) -> None:
    same = [name for name in ORDINARY if getattr(changed.deployment, name) == getattr(prod.deployment, name)]
    assert same == []


def test_an_ordinary_setting_change_touches_no_capacity(changed: Templates, prod: Templates) -> None:
    assert find_capacity(changed) == find_capacity(prod)
    assert len(gpu_groups(prod)) == 2


def test_KEDA_alone_limits_the_workers_and_thereby_the_costs(templates: Templates) -> None:
    most = one_object(templates, "ScaledJob", "gpu-worker")["spec"]["maxReplicaCount"]
    assert most == templates.deployment.max_gpu_workers
    for group in gpu_groups(templates).values():
        assert group["ScalingConfig"]["MaxSize"] >= most + templates.deployment.warm_nodes


def test_the_limits_of_GPU_nodes_are_fixed(templates: Templates) -> None:
    for group in gpu_groups(templates).values():
        assert group["ScalingConfig"]["MaxSize"] == MOST_GPU_NODES


def test_no_group_is_told_to_have_more_than_its_least(templates: Templates) -> None:
    """EKS demands a size when a group is made."""
    for group in node_groups(templates).values():
        assert group["ScalingConfig"]["DesiredSize"] == group["ScalingConfig"]["MinSize"]


def test_no_deployment_resets_what_KEDA_scales(prod: Templates) -> None:
    assert [found["metadata"]["name"] for found in list_scaled(prod)] == ["warm-nodes"]
    assert [found for found in list_scaled(prod) if "replicas" in found["spec"]] == []
