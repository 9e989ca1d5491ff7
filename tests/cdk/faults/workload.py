from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.cdk import test_iam as iam
from tests.cdk import test_kubernetes_schemas as schemas
from tests.cdk.faults.fault import Fault, at
from tests.cdk.manifests import Object, change_objects
from tests.cdk.templates import Templates
from tests.cdk.workload import test_access as access
from tests.cdk.workload import test_pods as pods
from tests.cdk.workload import test_workload as workload


def job(change: Callable[[Object], None]) -> partial[None]:
    """Seeds a change of all ScaledJobs' specs."""
    return partial(change_objects, kind="ScaledJob", change=lambda found: change(found["spec"]))


def pod(change: Callable[[Object], None]) -> partial[None]:
    """Seeds a change of the template of all their pods."""
    return job(lambda spec: change(spec["jobTargetRef"]["template"]))


def container(change: Callable[[Object], None]) -> partial[None]:
    return pod(lambda template: change(template["spec"]["containers"][0]))


def triggers(change: Callable[[Object], None]) -> partial[None]:
    return job(lambda spec: [change(trigger) for trigger in spec["triggers"]] and None)


def scale_on_in_flight_beside_the_metadata(trigger: Object) -> None:
    trigger["scaleOnInFlight"] = trigger["metadata"].pop("scaleOnInFlight")


def without_shared_memory(one: Object) -> None:
    one["volumeMounts"] = [mount for mount in one["volumeMounts"] if mount["mountPath"] != "/dev/shm"]


def rights(change: Callable[[dict[str, Any]], None]) -> Callable[[Templates], None]:
    """Seeds a change of every statement of the worker's role; its actions are a list."""

    def seed(templates: Templates) -> None:
        [policy] = at(templates, "workload/GpuWorker/Account/Role/DefaultPolicy/Resource")
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            if isinstance(statement["Action"], str):
                statement["Action"] = [statement["Action"]]
            change(statement)

    return seed


def instead(action: str, others: list[str]) -> Callable[[dict[str, Any]], None]:
    def change(statement: dict[str, Any]) -> None:
        if action in statement["Action"]:
            statement["Action"] = [one for one in statement["Action"] if one != action] + others

    return change


def any_queue(statement: dict[str, Any]) -> None:
    if "sqs:DeleteMessage" in statement["Action"]:
        statement["Resource"] = "*"


FAULTS = (
    Fault(
        "scaleOnInFlight stands beside the metadata",
        triggers(scale_on_in_flight_beside_the_metadata),
        (
            workload.test_messages_in_flight_are_counted_where_KEDA_looks_F11,
            schemas.test_keda_takes_every_field_of_every_object,
        ),
    ),
    Fault(
        "a worker is started for each message",
        triggers(lambda trigger: trigger["metadata"].update(queueLength="1")),
        (workload.test_a_worker_is_not_started_for_what_another_holds,),
    ),
    Fault(
        "the longest queue alone counts",
        job(lambda spec: spec["scalingStrategy"].update(multipleScalersCalculation="max")),
        (workload.test_triggers_add_up_F12,),
    ),
    Fault(
        "a release kills running workers",
        job(lambda spec: spec.pop("rollout")),
        (workload.test_a_new_version_leaves_running_jobs_alone_F13,),
    ),
    Fault(
        "Kubernetes tries again beside SQS",
        job(lambda spec: spec["jobTargetRef"].update(backoffLimit=6)),
        (workload.test_SQS_is_the_retry_F13,),
    ),
    Fault(
        "KEDA is told a field that it does not know",
        job(lambda spec: spec.update(cooldownPeriod=300)),
        (schemas.test_keda_takes_every_field_of_every_object,),
    ),
    Fault(
        "Kubernetes is told a field that it does not know",
        partial(change_objects, kind="NetworkPolicy", change=lambda found: found["spec"].update(egres=[])),
        (schemas.test_kubernetes_takes_every_field_of_every_object,),
    ),
    Fault(
        "a worker has thirty seconds to leave",
        pod(lambda template: template["spec"].update(terminationGracePeriodSeconds=30)),
        (workload.test_a_worker_has_time_to_leave_before_a_spot_node_does_F23,),
    ),
    Fault(
        "the autoscaler may take a busy node",
        pod(lambda template: template["metadata"].pop("annotations")),
        (workload.test_the_autoscaler_leaves_a_busy_node_alone_F22,),
    ),
    Fault(
        "a worker may write to its image",
        container(lambda one: one["securityContext"].update(readOnlyRootFilesystem=False)),
        (pods.test_nothing_runs_with_privileges_or_writes_to_its_root,),
    ),
    Fault(
        "shared memory has its 64 MB",
        container(without_shared_memory),
        (pods.test_tiles_are_handed_on_in_memory,),
    ),
    Fault(
        "a worker that leaves is killed by its probe",
        container(lambda one: one["livenessProbe"]["httpGet"].update(path="/v2/health/ready")),
        (pods.test_a_worker_that_leaves_is_not_killed_for_it_F23,),
    ),
    Fault(
        "a worker asks for more than a node has",
        container(lambda one: one["resources"]["requests"].update(cpu="8")),
        (pods.test_a_worker_fits_on_the_smallest_node_beside_its_daemons,),
    ),
    Fault(
        "a worker may not decrypt slides",
        rights(instead("kms:Decrypt", [])),
        (access.test_a_worker_may_do_what_its_code_does_and_no_more_F41,),
    ),
    Fault(
        "a worker may do anything in S3",
        rights(instead("s3:GetObject", ["s3:*"])),
        (
            iam.test_no_policy_allows_all_actions_of_a_service,
            access.test_a_worker_may_do_what_its_code_does_and_no_more_F41,
        ),
    ),
    Fault(
        "a worker may do whatever begins with Get",
        rights(instead("s3:GetObject", ["s3:Get*"])),
        (iam.test_wildcards_in_actions_and_resources_are_in_the_table_of_reasons,),
    ),
    Fault(
        "a worker takes from any queue",
        rights(any_queue),
        (iam.test_wildcards_in_actions_and_resources_are_in_the_table_of_reasons,),
    ),
    Fault(
        "pods may talk to everybody",
        partial(change_objects, kind="NetworkPolicy", change=lambda found: found["spec"].update(egress=[{}])),
        (access.test_every_pod_of_the_namespace_is_shut_off_at_first,),
    ),
)
