from __future__ import annotations

from functools import partial

from tests.cdk.cluster import test_capacity as capacity
from tests.cdk.cluster import test_cluster as cluster
from tests.cdk.cluster import test_node_groups as nodes
from tests.cdk.faults.fault import Fault, at, set_at, without
from tests.cdk.faults.workload import pod
from tests.cdk.manifests import MANIFEST, change_objects, change_values
from tests.cdk.templates import Templates
from tests.cdk.workload import test_controllers as controllers
from tests.cdk.workload import test_order as order


def kubernetes_answers_the_internet(templates: Templates) -> None:
    cluster.cluster(templates)["ResourcesVpcConfig"]["EndpointPublicAccess"] = True


def network_policies_are_words(templates: Templates) -> None:
    addon = cluster.addons(templates)["vpc-cni"]["Properties"]
    addon["ConfigurationValues"] = addon["ConfigurationValues"].replace('"true"', '"false"')


def gpu_nodes_have_another_label(templates: Templates) -> None:
    for group in nodes.gpu_groups(templates).values():
        group["Labels"]["accelerator"] = group["Labels"].pop("k8s.amazonaws.com/accelerator")


def one_type_of_spot(templates: Templates) -> None:
    group = nodes.node_groups(templates)[nodes.GPU_SPOT]
    group["InstanceTypes"] = group["InstanceTypes"][:1]


def credentials_for_pods(templates: Templates) -> None:
    for found in templates.resources("AWS::EC2::LaunchTemplate", "cluster").values():
        options = found["Properties"]["LaunchTemplateData"]["MetadataOptions"]
        options.update(HttpTokens="optional", HttpPutResponseHopLimit=2)


def nodes_before_the_network(templates: Templates) -> None:
    for group in at(templates, "cluster/NodeGroups/*/Resource"):
        group["DependsOn"] = [id for id in group.get("DependsOn", []) if "NodeAddonsNetwork" not in id]


def objects_before_keda(templates: Templates) -> None:
    for manifest in templates.resources(MANIFEST, "workload").values():
        manifest["DependsOn"] = [id for id in manifest.get("DependsOn", []) if "KedaChart" not in id]


def charts_before_nodes(templates: Templates) -> None:
    templates.after["workload"].discard("cluster")


def one_group_is_as_large_as_the_workers_are_many(templates: Templates) -> None:
    group = nodes.node_groups(templates)[nodes.GPU_SPOT]
    group["ScalingConfig"]["MaxSize"] = templates.deployment.max_gpu_workers


def a_group_asks_for_nodes(templates: Templates) -> None:
    nodes.node_groups(templates)[nodes.GPU_SPOT]["ScalingConfig"]["DesiredSize"] = 1


def warm_nodes_have_replicas(templates: Templates) -> None:
    change_objects(templates, "Deployment", lambda found: found["spec"].update(replicas=0))


FAULTS = (
    Fault(
        "a group of GPU nodes has a limit that a setting changes",
        one_group_is_as_large_as_the_workers_are_many,
        (
            capacity.test_the_limits_of_GPU_nodes_are_fixed,
            capacity.test_KEDA_alone_limits_the_workers_and_thereby_the_costs,
        ),
    ),
    Fault(
        "a deployment sets the size of a group",
        a_group_asks_for_nodes,
        (
            capacity.test_no_group_is_told_to_have_more_than_its_least,
            nodes.test_gpu_nodes_cost_nothing_while_there_is_no_work,
        ),
    ),
    Fault(
        "a deployment ends the warm nodes",
        warm_nodes_have_replicas,
        (capacity.test_no_deployment_resets_what_KEDA_scales,),
    ),
    Fault(
        "Kubernetes answers the internet",
        kubernetes_answers_the_internet,
        (cluster.test_kubernetes_answers_within_the_vpc_alone,),
    ),
    Fault(
        "nobody enforces network policies",
        network_policies_are_words,
        (cluster.test_network_policies_are_enforced,),
    ),
    Fault(
        "workers do not tolerate the taint of GPU nodes",
        pod(lambda template: template["spec"].pop("tolerations", None)),
        (order.test_every_pod_tolerates_the_taints_of_its_nodes,),
    ),
    Fault(
        "no node has the label that workers ask for",
        gpu_nodes_have_another_label,
        (order.test_every_pod_finds_nodes_with_its_labels,),
    ),
    Fault(
        "there are no GPUs where spot has none",
        without("cluster/NodeGroups/gpu-on-demand/Resource"),
        (nodes.test_gpus_are_to_be_had_on_spot_and_where_it_has_none_on_demand_F20,),
    ),
    Fault(
        "spot is asked for in one type",
        one_type_of_spot,
        (nodes.test_spot_is_asked_for_in_every_zone_and_four_types_F20,),
    ),
    Fault(
        "pods reach the credentials of their node",
        credentials_for_pods,
        (nodes.test_pods_do_not_reach_the_credentials_of_their_node,),
    ),
    Fault(
        "nodes come before their network",
        nodes_before_the_network,
        (cluster.test_nodes_come_after_what_they_wait_for_F54,),
    ),
    Fault(
        "KEDA's objects come before KEDA",
        objects_before_keda,
        (order.test_KEDA_is_there_before_its_objects_and_goes_after_them_F54_F56,),
    ),
    Fault(
        "the GPUs of a tainted node are never told",
        partial(change_values, chart="nvidia-device-plugin", change=lambda values: values.update(tolerations=[])),
        (controllers.test_every_daemon_tolerates_every_taint_of_gpu_nodes_F18,),
    ),
    Fault(
        "KEDA is too old for the strategy",
        set_at("workload/Controllers/Keda/Chart/*", Version="2.18.3"),
        (controllers.test_KEDA_is_new_enough_for_our_strategy_F11,),
    ),
    Fault(
        "charts come before nodes",
        charts_before_nodes,
        (order.test_migrations_and_nodes_come_before_all_of_it_F52_F54,),
    ),
)
