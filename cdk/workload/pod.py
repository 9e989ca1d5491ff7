"""The pod of a worker: without privileges, its root read-only, writing to folders of its own, probed on one port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.settings.environment import Environment
from cdk.cluster.placement import GPU
from cdk.scraping import make_annotations
from cdk.workload.worker_namespace import WORKER_LABELS

USER = 10001  #: gpu_worker/Dockerfile makes it
SCRATCH = "/scratch"  #: of the settings: model packages and slides are stored below it
#: A spot node ends two minutes after its notice. The worker needs under 90 s from SIGTERM on to finish its batch, write
#: a checkpoint and give its shard back (F-23).
GRACE_SECONDS = 110
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"

UNPRIVILEGED: Mapping[str, Any] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def make_security_context(user: int) -> dict[str, Any]:
    return {
        "runAsNonRoot": True,
        "runAsUser": user,
        "runAsGroup": user,
        "fsGroup": user,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Resources:
    """Memory is limited to what is requested; processors are not limited: idle ones may be used."""

    processors: str
    memory: str
    shared_memory: str  #: part of `memory`; a container's default of 64 MB is too little to hand tiles on
    scratch: str  #: of the node's disk
    gpus: int = 0

    @property
    def of_container(self) -> dict[str, Any]:
        # Extended resources are strings in KEDA's schema. Disk is bounded by the volumes and not requested: nothing
        # else on the node wants it, and a node that does not exist yet has none in the autoscaler's eyes.
        gpus = {GPU: str(self.gpus)} if self.gpus else {}
        return {
            "requests": {"cpu": self.processors, "memory": self.memory, **gpus},
            "limits": {"memory": self.memory, **gpus},
        }


def make_worker_pod(
    *,
    name: str,
    image: str,
    arguments: Sequence[str],
    settings: Environment,
    port: int,
    account: str,
    priority_class: str,
    resources: Resources,
    node_selector: Mapping[str, str],
    tolerations: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the template of a Job's pod. On `port` it answers as `gpu_worker.health.server` describes."""
    volumes = {
        "scratch": (SCRATCH, {"sizeLimit": resources.scratch}),  # on the node's NVMe, where kubelet's folders are
        "tmp": ("/tmp", {"sizeLimit": "4Gi"}),
        "shm": ("/dev/shm", {"medium": "Memory", "sizeLimit": resources.shared_memory}),
    }
    container = {
        "name": "worker",
        "image": image,
        "args": [*arguments],
        "env": [{"name": name, "value": value} for name, value in settings.make_environ().items()],
        "ports": [{"name": "health", "containerPort": port}],
        "resources": resources.of_container,
        "securityContext": UNPRIVILEGED,
        "volumeMounts": [{"name": name, "mountPath": path} for name, (path, _) in volumes.items()],
        # Imports of torch take seconds on a warm node and a minute on a cold disk.
        "startupProbe": {**_asks("/v2/health/live", port), "periodSeconds": 5, "failureThreshold": 60},
        # Not /ready, which answers 503 while the worker drains: a kill then would cost the checkpoint.
        "livenessProbe": {**_asks("/v2/health/live", port), "periodSeconds": 20, "failureThreshold": 6},
        "readinessProbe": {**_asks("/v2/health/ready", port), "periodSeconds": 10, "failureThreshold": 1},
    }
    return {
        "metadata": {
            "labels": {"app.kubernetes.io/name": name, **WORKER_LABELS},
            "annotations": {SAFE_TO_EVICT: "false", **make_annotations(port)},
        },
        "spec": {
            "serviceAccountName": account,
            "automountServiceAccountToken": False,  # Pod Identity mounts its own; nothing here asks Kubernetes
            "enableServiceLinks": False,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": GRACE_SECONDS,
            "priorityClassName": priority_class,
            "nodeSelector": {**node_selector},
            "tolerations": [{**toleration} for toleration in tolerations],
            "securityContext": make_security_context(USER),
            "containers": [container],
            "volumes": [{"name": name, "emptyDir": emptyDir} for name, (_, emptyDir) in volumes.items()],
        },
    }


def _asks(path: str, port: int) -> dict[str, Any]:
    # A forward pass can hold Python's lock for a while.
    return {"httpGet": {"path": path, "port": port}, "timeoutSeconds": 5}
