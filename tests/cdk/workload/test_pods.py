"""The pods of workers: where they fit, what they may touch, whom they answer."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

import pytest

from adapters.settings import processes
from adapters.settings.environment import Environment
from tests.cdk.manifests import Object, objects, one_object
from tests.cdk.templates import ROOT, Templates
from tests.cdk.workload.test_workload import scaled_jobs, warm_pods

MIB, GIB = 1024**2, 1024**3
#: Processors, memory and NVMe in GiB (AWS, Instance types, 2026). A type that is not here is a reason to look it up.
INSTANCES = {
    "g4dn.2xlarge": (8, 32, 209),
    "g5.2xlarge": (8, 32, 419),
    "g6.2xlarge": (8, 32, 419),
    "g6e.2xlarge": (8, 64, 419),
}
#: What DaemonSets on a GPU node may ask for: network, proxy, identity agent, device plugin, DCGM, logs.
DAEMONS_PROCESSORS, DAEMONS_MEMORY = 0.7, 1.5 * GIB
SETTINGS: dict[str, type[Environment]] = {
    "gpu-worker": processes.WorkerSettings,
    "heavy-worker": processes.HeavySettings,
}


def template(job: Object) -> Object:
    return job["spec"]["jobTargetRef"]["template"]


def container(job: Object) -> dict[str, Any]:
    [found] = template(job)["spec"]["containers"]
    return found


def environment(job: Object) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in container(job)["env"]}


def settings(job: Object) -> Any:
    return SETTINGS[job["metadata"]["name"]].from_environ(environment(job))


def all_pods(templates: Templates) -> list[dict[str, Any]]:
    return [*(template(job)["spec"] for job in scaled_jobs(templates)), *warm_pods(templates)]


def all_containers(templates: Templates) -> list[dict[str, Any]]:
    return [one for pod in all_pods(templates) for one in (*pod["containers"], *pod.get("initContainers", []))]


def written_volumes(job: Object) -> dict[str, dict[str, Any]]:
    """emptyDirs by where they are mounted."""
    volumes = {volume["name"]: volume["emptyDir"] for volume in template(job)["spec"]["volumes"]}
    return {mount["mountPath"]: volumes[mount["name"]] for mount in container(job)["volumeMounts"]}


def amount(text: str) -> float:
    """Of a quantity of Kubernetes."""
    number, unit = re.fullmatch(r"([\d.]+)(m|Mi|Gi|)", text).groups()  # pyright: ignore[reportOptionalMemberAccess]
    return float(number) * {"": 1, "m": 0.001, "Mi": MIB, "Gi": GIB}[unit]


def allocatable(processors: int, gib: int) -> tuple[float, float]:
    """Processors and bytes that EKS leaves for pods on a node of 110 of them; 7.5 % of the memory that is paid for is
    taken by firmware and kernel, which is Karpenter's estimate too."""
    kept = 0.06 + 0.01 + 0.005 * 2 + 0.0025 * (processors - 4)
    return processors - kept, gib * GIB * 0.925 - (255 + 11 * 110 + 100) * MIB


def test_a_worker_fits_on_the_smallest_node_beside_its_daemons(templates: Templates) -> None:
    resources = container(one_object(templates, "ScaledJob", "gpu-worker"))["resources"]
    asked = resources["requests"]
    for name in templates.deployment.gpu_instance_types:
        processors, gib, _ = INSTANCES[name]
        free_processors, free_memory = allocatable(processors, gib)
        assert amount(asked["cpu"]) + DAEMONS_PROCESSORS <= free_processors, name
        assert amount(asked["memory"]) + DAEMONS_MEMORY <= free_memory, name
    assert asked["nvidia.com/gpu"] == "1", "a number crashes readers of KEDA's schema"
    assert resources["limits"]["nvidia.com/gpu"] == "1", "DCGM names the pods of such limits alone (F-25)"


def test_disk_is_bounded_and_not_asked_for(templates: Templates) -> None:
    """A request for disk fits on no node that does not exist yet: the autoscaler knows nothing of its NVMe."""
    job = one_object(templates, "ScaledJob", "gpu-worker")
    assert "ephemeral-storage" not in str(container(job)["resources"])
    bounded = sum(amount(volume["sizeLimit"]) for volume in written_volumes(job).values() if "medium" not in volume)
    for name in templates.deployment.gpu_instance_types:
        images = 20 * GIB
        evicted_above = 0.9 * INSTANCES[name][2] * GIB  # kubelet's nodefs.available
        assert bounded + images <= evicted_above, name


def test_three_open_slides_fit_into_the_scratch_space(templates: Templates) -> None:
    job = one_object(templates, "ScaledJob", "gpu-worker")
    models = 20 * GIB
    assert 3 * settings(job).max_scratch_bytes + models <= amount(written_volumes(job)["/scratch"]["sizeLimit"])


def test_memory_is_promised_in_full(templates: Templates) -> None:
    for one in all_containers(templates):
        resources = one["resources"]
        assert resources["requests"]["memory"] == resources["limits"]["memory"]


def test_tiles_are_handed_on_in_memory(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        shared = written_volumes(job)["/dev/shm"]
        assert shared["medium"] == "Memory"
        assert 1 * GIB <= amount(shared["sizeLimit"]) < amount(container(job)["resources"]["limits"]["memory"])


def test_nothing_runs_with_privileges_or_writes_to_its_root(templates: Templates) -> None:
    for pod in all_pods(templates):
        context = pod["securityContext"]
        assert context["runAsNonRoot"] is True
        assert context["runAsUser"] > 0
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    for one in all_containers(templates):
        assert one["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_the_namespace_refuses_pods_with_more_rights(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        labels = one_object(templates, "Namespace", job["metadata"]["namespace"])["metadata"]["labels"]
        assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_every_folder_that_the_settings_name_can_be_written(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        writable = [PurePosixPath(path) for path in written_volumes(job)]
        folders = [value for value in environment(job).values() if value.startswith("/")]
        assert folders
        for folder in (*folders, "/tmp"):
            assert any(PurePosixPath(folder).is_relative_to(path) for path in writable), folder


def test_pods_have_no_token_of_kubernetes(templates: Templates) -> None:
    for pod in all_pods(templates):
        assert pod["automountServiceAccountToken"] is False
    for job in scaled_jobs(templates):
        account = one_object(templates, "ServiceAccount", template(job)["spec"]["serviceAccountName"])
        assert account["automountServiceAccountToken"] is False


def test_a_pod_is_told_its_settings_and_nothing_else(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        assert settings(job).make_environ() == environment(job)
        assert len(container(job)["env"]) == len(environment(job))


def test_a_pod_runs_a_module_of_the_image(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        python, option, module = container(job)["args"]
        assert (python, option) == ("python", "-m")
        assert "command" not in container(job), "it would take the place of tini"
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()


def test_a_pod_is_told_no_secret(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        assert settings(job).database_iam is True
        assert "password" not in settings(job).database_dsn
        assert "valueFrom" not in str(container(job)["env"])
        assert objects(templates, "Secret") == []


def test_the_gpu_worker_runs_on_the_gpu(templates: Templates) -> None:
    assert settings(one_object(templates, "ScaledJob", "gpu-worker")).device == "cuda"


def test_probes_ask_where_the_worker_answers(templates: Templates) -> None:
    for job in scaled_jobs(templates):
        one = container(job)
        port = settings(job).health_port
        assert [entry["containerPort"] for entry in one["ports"]] == [port]
        assert template(job)["metadata"]["annotations"]["prometheus.io/port"] == str(port)
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert one[probe]["httpGet"]["port"] == port
            assert one[probe]["timeoutSeconds"] >= 5, "a forward pass holds Python's lock"


def test_a_worker_that_leaves_is_not_killed_for_it_F23(templates: Templates) -> None:
    """Ready is 503 while it leaves."""
    for job in scaled_jobs(templates):
        assert container(job)["livenessProbe"]["httpGet"]["path"] == "/v2/health/live"
        assert container(job)["startupProbe"]["httpGet"]["path"] == "/v2/health/live"
        assert container(job)["readinessProbe"]["httpGet"]["path"] == "/v2/health/ready"


@pytest.mark.parametrize("name", ["prometheus.io/scrape", "prometheus.io/port"])
def test_metrics_are_read(templates: Templates, name: str) -> None:
    for job in scaled_jobs(templates):
        assert name in template(job)["metadata"]["annotations"]
        assert template(job)["metadata"]["labels"]["app.kubernetes.io/name"] == job["metadata"]["name"]
