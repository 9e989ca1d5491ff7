"""When workers begin and end: what KEDA, Kubernetes' Jobs and the autoscaler are told."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.settings import queues, scaling
from tests.cdk.manifests import MANIFEST, Object, objects, one_object
from tests.cdk.templates import Templates

#: s; DESIGN section 6: a worker has given back what it holds by then.
DRAIN_SECONDS = 90
#: s between the notice of a spot node's end and that end.
SPOT_NOTICE_SECONDS = 120
#: The autoscaler starts no node for a pod of lower priority, unless told otherwise.
EXPENDABLE_BELOW = -10


def scaled_jobs(templates: Templates) -> list[Object]:
    found = objects(templates, "ScaledJob")
    assert found
    return found


def triggers(job: Object) -> list[dict[str, Any]]:
    return job["spec"]["triggers"]


def priority(templates: Templates, pod: dict[str, Any]) -> Object:
    return one_object(templates, "PriorityClass", pod["priorityClassName"])


def worker_pod(templates: Templates) -> dict[str, Any]:
    return one_object(templates, "ScaledJob", "gpu-worker")["spec"]["jobTargetRef"]["template"]["spec"]


def warm_pods(templates: Templates) -> list[dict[str, Any]]:
    return [one["spec"]["template"]["spec"] for one in objects(templates, "Deployment") if _warm(one)]


def _warm(one: Object) -> bool:
    return one["metadata"]["name"] == "warm-nodes"


def test_workers_are_jobs_that_nobody_scales_down_F10(templates: Templates) -> None:
    by_queue = [one for one in objects(templates, "ScaledObject") if any("sqs" in t["type"] for t in triggers(one))]
    assert by_queue == []


def test_every_queue_of_pods_has_one_trigger(templates: Templates) -> None:
    urls = [trigger["metadata"]["queueURL"] for job in scaled_jobs(templates) for trigger in triggers(job)]
    for name in queues.POD_QUEUES:
        assert sum(f"Queues{name.replace('-', '')}" in url for url in urls) == 1, (name, urls)
    assert len(urls) == len(queues.POD_QUEUES)


def test_messages_in_flight_are_counted_where_KEDA_looks_F11(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        assert job["spec"]["scalingStrategy"]["strategy"] == "default"
        for trigger in triggers(job):
            assert trigger["type"] == "aws-sqs-queue"
            assert trigger["metadata"]["scaleOnInFlight"] == "true"


def test_triggers_add_up_F12(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        assert job["spec"]["scalingStrategy"]["multipleScalersCalculation"] == "sum"


def test_a_worker_is_not_started_for_what_another_holds(templates: Templates) -> None:
    """In flight, and so counted: `gpu-worker` holds two shards, `heavy-worker` one plan."""
    for trigger in triggers(one_object(templates, "ScaledJob", "gpu-worker")):
        assert int(trigger["metadata"]["queueLength"]) >= scaling.LEASES_HELD


def test_the_first_message_starts_a_worker_soon_F14(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        assert 10 <= job["spec"]["pollingInterval"] <= 15
        assert {trigger["metadata"]["activationQueueLength"] for trigger in triggers(job)} == {"0"}
        assert "minReplicaCount" not in job["spec"], "it adds to the demand instead of warming (F-15)"


def test_triggers_are_signed_in_as_the_operator(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        for trigger in triggers(job):
            found = one_object(templates, "TriggerAuthentication", trigger["authenticationRef"]["name"])
            assert found["metadata"]["namespace"] == job["metadata"]["namespace"]
            assert found["spec"] == {"podIdentity": {"provider": "aws"}}
            assert trigger["metadata"]["awsRegion"] == templates.deployment.region


def test_a_new_version_leaves_running_jobs_alone_F13(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        assert job["spec"]["rollout"] == {"strategy": "gradual"}


def test_kubectl_does_not_prune_what_KEDA_makes(templates: Templates) -> None:
    """KEDA copies labels and annotations to its Jobs, and `kubectl apply --prune` deletes Jobs with that label."""
    for resource in templates.resources(MANIFEST).values():
        if '"kind":"ScaledJob"' in str(resource["Properties"]["Manifest"]):
            assert "PruneLabel" not in resource["Properties"]
    for job in scaled_jobs(templates):
        assert not [label for label in job["metadata"].get("labels", {}) if "prune" in label]


def test_SQS_is_the_retry_F13(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        target = job["spec"]["jobTargetRef"]
        assert target["backoffLimit"] == 0
        assert target["podReplacementPolicy"] == "Failed"
        assert target["template"]["spec"]["restartPolicy"] == "Never"


def test_what_hangs_ends_and_what_ended_goes(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        spec, target = job["spec"], job["spec"]["jobTargetRef"]
        # A shard takes minutes; under load a worker drains for hours, and should keep its model for most of them.
        assert 12 * 3600 <= target["activeDeadlineSeconds"] <= 48 * 3600
        assert target["ttlSecondsAfterFinished"] <= 48 * 3600
        assert spec["successfulJobsHistoryLimit"] <= 10
        assert 10 < spec["failedJobsHistoryLimit"] <= 100, "an alarm counts ten failures in half an hour"


def test_a_worker_has_time_to_leave_before_a_spot_node_does_F23(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        pod = job["spec"]["jobTargetRef"]["template"]["spec"]
        assert DRAIN_SECONDS < pod["terminationGracePeriodSeconds"] == 110 < SPOT_NOTICE_SECONDS


def test_the_autoscaler_leaves_a_busy_node_alone_F22(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        annotations = job["spec"]["jobTargetRef"]["template"]["metadata"]["annotations"]
        assert annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"


def test_nothing_forbids_to_evict_a_worker(templates: Templates) -> None:
    """The drain of a spot node evicts: a budget would keep SIGTERM from the worker until the node is gone."""
    workers = [job["spec"]["jobTargetRef"]["template"]["metadata"]["labels"] for job in scaled_jobs(templates)]
    for budget in objects(templates, "PodDisruptionBudget"):
        selector = budget["spec"]["selector"].get("matchLabels", {}).items()
        assert not [labels for labels in workers if selector <= labels.items()]


def test_a_warm_node_gives_way_to_a_worker_at_once_F15(templates: Templates) -> None:
    worker = priority(templates, worker_pod(templates))
    assert worker["preemptionPolicy"] == "PreemptLowerPriority"
    for pod in warm_pods(templates):
        assert priority(templates, pod)["value"] < worker["value"]
        assert pod["terminationGracePeriodSeconds"] == 0
        assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_the_autoscaler_starts_nodes_for_all_of_our_pods(templates: Templates) -> None:
    assert [one for one in objects(templates, "PriorityClass") if one["value"] < EXPENDABLE_BELOW] == []


def test_heavy_work_takes_no_place_from_the_controllers_beside_it(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        pod = job["spec"]["jobTargetRef"]["template"]["spec"]
        found = priority(templates, pod)
        assert found["value"] <= 0
        assert "nvidia.com/gpu" in str(pod["containers"]) or found["preemptionPolicy"] == "Never"


def test_warm_nodes_have_the_workers_image_before_it_comes_F16(templates: Templates) -> None:
    image = worker_pod(templates)["containers"][0]["image"]
    for pod in warm_pods(templates):
        assert pod["initContainers"][0]["image"] == image
        assert pod["nodeSelector"] == worker_pod(templates)["nodeSelector"]


def test_nodes_are_warm_in_working_hours_only(templates: Templates) -> None:
    deployment = templates.deployment
    held = [one for one in objects(templates, "ScaledObject") if _warm(one)]
    assert len(held) == len(warm_pods(templates)) == (deployment.warm_nodes > 0)
    for one in held:
        assert one["spec"]["scaleTargetRef"] == {"name": "warm-nodes"}
        assert (one["spec"]["minReplicaCount"], one["spec"]["maxReplicaCount"]) == (0, deployment.warm_nodes)
        [trigger] = triggers(one)
        hours = deployment.warm_hours
        assert trigger["type"] == "cron"
        assert trigger["metadata"] == {
            "timezone": hours.timezone,
            "start": hours.start,
            "end": hours.end,
            "desiredReplicas": str(deployment.warm_nodes),
        }


def test_the_presets_cover_both(dev: Templates, prod: Templates) -> None:
    if not warm_pods(prod):
        pytest.fail("prod keeps a warm node: the facts above say nothing without one")
    assert warm_pods(dev) == []
