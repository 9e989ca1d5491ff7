"""The cluster: who reaches it, what it writes down, what EKS installs in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdk.cluster.placement import GPU_TOLERATIONS, SYSTEM, SYSTEM_LABELS
from tests.cdk.cluster.test_node_groups import node_groups
from tests.cdk.templates import Resource, Templates, synthesized

ADMIN = "arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/eu-central-1/Admin_0123"


@pytest.fixture(scope="module")
def opened() -> Templates:
    return synthesized(environment="dev", cluster_admin_role_arn=ADMIN, cluster_endpoint_cidrs="203.0.113.7/32")


def cluster(templates: Templates) -> dict[str, Any]:
    return templates.resource("AWS::EKS::Cluster")["Properties"]


def addons(templates: Templates) -> dict[str, Resource]:
    found = templates.resources("AWS::EKS::Addon").values()
    return {addon["Properties"]["AddonName"]: addon for addon in found}


def configuration(templates: Templates, name: str) -> dict[str, Any]:
    return json.loads(addons(templates)[name]["Properties"]["ConfigurationValues"])


def test_kubernetes_answers_within_the_vpc_alone(templates: Templates) -> None:
    access = cluster(templates)["ResourcesVpcConfig"]
    assert (access["EndpointPrivateAccess"], access["EndpointPublicAccess"]) == (True, False)


def test_kubernetes_answers_the_addresses_that_are_named(opened: Templates) -> None:
    access = cluster(opened)["ResourcesVpcConfig"]
    assert (access["EndpointPrivateAccess"], access["PublicAccessCidrs"]) == (True, ["203.0.113.7/32"])


def test_the_functions_for_kubectl_are_in_the_vpc(templates: Templates) -> None:
    functions = templates.resources("AWS::Lambda::Function", "cluster")
    assert functions
    assert [id for id, function in functions.items() if "VpcConfig" not in function["Properties"]] == []


def test_the_function_for_kubectl_has_memory_and_time_for_helm_F53(templates: Templates) -> None:
    functions = templates.resources("AWS::Lambda::Function", "cluster").values()
    with_kubectl = [function["Properties"] for function in functions if "Layers" in function["Properties"]]
    assert with_kubectl
    assert all(function["MemorySize"] >= 1024 and function["Timeout"] >= 900 for function in with_kubectl)


def test_nobody_enters_for_having_made_the_cluster(templates: Templates) -> None:
    access = cluster(templates)["AccessConfig"]
    assert access == {"AuthenticationMode": "API", "BootstrapClusterCreatorAdminPermissions": False}
    [entry] = templates.resources("AWS::EKS::AccessEntry").values()
    assert "KubectlProvider" in json.dumps(entry["Properties"]["PrincipalArn"])


def test_the_named_role_enters(opened: Templates) -> None:
    entries = [entry["Properties"] for entry in opened.resources("AWS::EKS::AccessEntry").values()]
    [admin] = [entry for entry in entries if entry["PrincipalArn"] == ADMIN]
    assert "AmazonEKSClusterAdminPolicy" in json.dumps(admin["AccessPolicies"])


def test_secrets_are_encrypted_with_a_key_of_ours(templates: Templates) -> None:
    [encryption] = cluster(templates)["EncryptionConfig"]
    [key, _] = encryption["Provider"]["KeyArn"]["Fn::GetAtt"]
    assert encryption["Resources"] == ["secrets"]
    assert templates.resources("AWS::KMS::Key", "cluster")[key]["Properties"]["EnableKeyRotation"] is True


def test_all_of_the_control_plane_is_written_where_we_keep_it(templates: Templates) -> None:
    types = {enabled["Type"] for enabled in cluster(templates)["Logging"]["ClusterLogging"]["EnabledTypes"]}
    assert types == {"api", "audit", "authenticator", "controllerManager", "scheduler"}
    named = f"/aws/eks/{cluster(templates)['Name']}/cluster"
    groups = templates.resources("AWS::Logs::LogGroup", "cluster")
    [id] = [id for id, group in groups.items() if group["Properties"]["LogGroupName"] == named]
    assert id in templates.resource("AWS::EKS::Cluster")["DependsOn"], "EKS would make it first, kept for ever"


def test_eks_manages_all_of_its_addons(templates: Templates) -> None:
    assert cluster(templates)["BootstrapSelfManagedAddons"] is False
    assert set(addons(templates)) == {
        *("coredns", "kube-proxy", "vpc-cni", "eks-pod-identity-agent", "eks-node-monitoring-agent"),
    }


def test_network_policies_are_enforced(templates: Templates) -> None:
    assert configuration(templates, "vpc-cni")["enableNetworkPolicy"] == "true"


def test_the_network_plugin_has_a_role_of_its_own(templates: Templates) -> None:
    [association] = addons(templates)["vpc-cni"]["Properties"]["PodIdentityAssociations"]
    role = templates.resources("AWS::IAM::Role")[association["RoleArn"]["Fn::GetAtt"][0]]["Properties"]
    assert association["ServiceAccount"] == "aws-node"
    assert "AmazonEKS_CNI_Policy" in json.dumps(role["ManagedPolicyArns"])
    for group in node_groups(templates).values():
        assert "AmazonEKS_CNI_Policy" not in json.dumps(node_role(templates, group)["ManagedPolicyArns"])


def node_role(templates: Templates, group: dict[str, Any]) -> dict[str, Any]:
    return templates.resources("AWS::IAM::Role")[group["NodeRole"]["Fn::GetAtt"][0]]["Properties"]


def test_nodes_may_join_pull_images_and_lend_roles_to_pods_and_no_more(templates: Templates) -> None:
    for group in node_groups(templates).values():
        role = node_role(templates, group)
        names = [json.dumps(arn).rpartition("/")[2].strip('"]}') for arn in role["ManagedPolicyArns"]]
        assert names == ["AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"]
        assert "Policies" not in role


def test_names_are_resolved_on_the_system_group_alone_F14(templates: Templates) -> None:
    assert configuration(templates, "coredns")["nodeSelector"] == SYSTEM_LABELS
    groups = templates.resources("AWS::EKS::Nodegroup")
    [system] = [id for id, group in groups.items() if group["Properties"]["Labels"].items() >= SYSTEM_LABELS.items()]
    assert system in addons(templates)["coredns"]["DependsOn"], "EKS waits for its pods, which wait for a node"


def test_nodes_come_after_what_they_wait_for_F54(templates: Templates) -> None:
    first = {"vpc-cni", "kube-proxy", "eks-pod-identity-agent"}
    ids = {id for id, a in templates.resources("AWS::EKS::Addon").items() if a["Properties"]["AddonName"] in first}
    assert len(ids) == len(first)
    for group in templates.resources("AWS::EKS::Nodegroup").values():
        assert ids <= set(group["DependsOn"])


def test_a_broken_gpu_is_noticed_and_its_node_replaced(templates: Templates) -> None:
    """Every shard would fail on it."""
    assert configuration(templates, "eks-node-monitoring-agent")["dcgmAgent"]["tolerations"] == [*GPU_TOLERATIONS]
    for group in node_groups(templates).values():
        assert group["NodeRepairConfig"] == {"Enabled": True}


def test_the_cluster_is_named_so_that_others_can_say_its_name(templates: Templates) -> None:
    assert cluster(templates)["Name"] == templates.deployment.prefix
    assert SYSTEM in node_groups(templates)
