"""The worker as a process of this machine: with the settings that the deployed ScaledJob gives to its pods, in the role
of their service account."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adapters.settings import processes
from adapters.settings.database_roles import SYSTEM_ROLE
from cdk.emulated import read_dropped_property
from local.emulated.installation import EmulatedInstallation
from local.environment import make_child_environ
from local.options import DATABASE
from local.processes import children

DRAIN_SECONDS = 90.0
QUEUES = "shards-"  #: in the names of the queues whose worker this is
ROOT = Path(__file__).resolve().parents[2]


class HostWorker:
    def __init__(self, installation: EmulatedInstallation) -> None:
        """Read the worker's settings and role from the synthesized ScaledJob. Raises LookupError when there is none for
        the shard queues."""
        pod = _pod(installation.outputs)
        (container,) = pod["containers"]
        self.role = _role(installation.outputs, pod["serviceAccountName"])
        self.log = installation.folder / "logs" / "worker.log"
        self.settings = _on_this_machine(
            processes.WorkerSettings.from_environ({one["name"]: one["value"] for one in container["env"]}), installation
        )
        self.credentials = installation.deploying.assume_role(self.role, name="worker")
        _, *self._arguments = container["args"]  # of the image's own Python
        self._installation = installation
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._child = children.start(
            [sys.executable, *self._arguments],
            env={**make_child_environ(self.settings.make_environ()), **self.credentials},
            log=self.log,
            cwd=ROOT,
        )
        self._installation.note_running(self._child.pid)

    def stop(self) -> int | None:
        """Drain the worker by SIGTERM, as Kubernetes does, and return its exit code; None when it never ran."""
        if self._child is None:
            return None
        children.stop(self._child, seconds=DRAIN_SECONDS)
        return self._child.returncode


def _on_this_machine(
    deployed: processes.WorkerSettings, installation: EmulatedInstallation
) -> processes.WorkerSettings:
    folder = installation.folder / "worker"
    scratch = folder / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    here: Mapping[str, Any] = {
        "endpoint_url": installation.ministack.url,
        "database_dsn": installation.postgres.make_dsn(SYSTEM_ROLE, DATABASE),
        "database_iam": False,
        "device": "cpu",
        "model_cache": str(folder / "models"),
        "scratch": str(scratch),
        "health_port": None,
    }
    return deployed.model_copy(update=here)


def _pod(outputs: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the pod of the ScaledJob that the shard queues start. Raises LookupError."""
    for one in _manifests(outputs):
        if one["kind"] == "ScaledJob" and QUEUES in json.dumps(one["spec"]["triggers"]):
            return one["spec"]["jobTargetRef"]["template"]["spec"]
    raise LookupError("No stack has a ScaledJob for the shard queues.")


def _manifests(outputs: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    for text in read_dropped_property(outputs, "Manifest").values():
        yield from json.loads(text)


def _role(outputs: Mapping[str, str], account: str) -> str:
    """Return the ARN of the role that EKS Pod Identity gives to pods of the account. Raises LookupError."""
    roles = read_dropped_property(outputs, "RoleArn")
    for id, name in read_dropped_property(outputs, "ServiceAccount").items():
        if name == account:
            return roles[id]
    raise LookupError(f"The service account {account} has no role.")
