"""The versions that a deployment pins, each with the date and the source of its last check.

The stacks read them from here, and docs/reference/versions.md shows them. tests/cdk/test_versions.py fails on a chart,
an image or an action that has no row. Python and npm packages are not here: constraints.txt and the lock files pin
those.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

_CHECKED = date(2026, 11, 30)
_GITHUB = "https://github.com/"
_AWS_DOCS = "https://docs.aws.amazon.com/"
#: For what no readable page named a newer version.
_UNKNOWN = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    name: str
    version: str
    used_in: str  #: the file that names the product
    newest: str = _UNKNOWN  #: the newest version that the source names
    checked: date | None = None  #: when a person last compared `version` with the source; None: never
    source: str = ""  #: the page that was read
    note: str = ""  #: why this version, or what a newer one changes


POSTGRES = Pin(
    name="Postgres on RDS",
    version="18",
    used_in="cdk/data/database.py",
    newest="19, as a heading of the release notes",
    checked=_CHECKED,
    source=f"{_AWS_DOCS}zh_tw/AmazonRDS/latest/PostgreSQLReleaseNotes/postgresql-versions.md",
    note="The major version only (decision 105): RDS creates its newest release and upgrades minor versions by itself.",
)
KUBERNETES = Pin(
    name="Kubernetes on EKS",
    version="1.36",
    used_in="cdk/cluster/stack.py",
    newest="1.36, the newest with node images in August 2026",
    checked=_CHECKED,
    source=f"{_GITHUB}awslabs/amazon-eks-ami/releases/tag/v20260818",
    note="The kubectl layer has the same minor version. Standard support lasts 14 months.",
)
AMI_FAMILY = Pin(
    name="AMI family of the nodes",
    version="AL2023_x86_64",
    used_in="cdk/cluster/node_groups.py",
    newest="AL2023, with Kubernetes 1.36",
    checked=_CHECKED,
    source=f"{_GITHUB}awslabs/amazon-eks-ami/releases/tag/v20260818",
    note="EKS chooses the release when it creates a group or changes its version.",
)
LAMBDA_PYTHON = Pin(
    name="Python of the functions",
    version="3.14",
    used_in="cdk/bundling.py",
    newest="3.14",
    checked=_CHECKED,
    source=f"{_AWS_DOCS}lambda/latest/dg/lambda-runtimes.md",
)
BUILD_IMAGE = Pin(
    name="amazonlinux-x86_64-standard",
    version="6.0",
    used_in="cdk/image/code_build.py",
    newest="6.0, with Amazon Linux 2023",
    checked=_CHECKED,
    source=f"{_GITHUB}aws/aws-codebuild-docker-images/tree/master/al/x86_64/standard/6.0",
    note="CodeBuild's own image with docker. AWS updates it under this name, and keeps the newest on its hosts.",
)
WORKER_PYTHON = Pin(name="Base image of the worker", version="3.11.15-slim-bookworm", used_in="gpu_worker/Dockerfile")

KEDA = Pin(
    name="keda",
    version="2.20.2",
    used_in="cdk/workload/keda.py",
    newest="2.21.1 of 16 November 2026",
    checked=_CHECKED,
    source=f"{_GITHUB}kedacore/charts/releases/tag/v2.21.1",
    note="At least 2.19: older ones start useless workers with some strategies (F-11).",
)
AUTOSCALER = Pin(name="cluster-autoscaler", version="9.59.0", used_in="cdk/workload/autoscaler.py")
#: The autoscaler simulates the scheduler of one version of Kubernetes: that of the cluster. The chart has 1.35.
AUTOSCALER_IMAGE = Pin(
    name="Image of the autoscaler",
    version="v1.36.1",
    used_in="cdk/workload/autoscaler.py",
    note="It has the cluster's minor version.",
)
DEVICE_PLUGIN = Pin(
    name="nvidia-device-plugin",
    version="0.20.0",
    used_in="cdk/workload/gpu_daemons.py",
    newest="0.20.0, as Microsoft packages it",
    checked=_CHECKED,
    source="https://packages.microsoft.com/ubuntu/24.04/prod/pool/main/n/nvidia-device-plugin/",
)
DCGM_EXPORTER = Pin(
    name="dcgm-exporter",
    version="4.8.2",
    used_in="cdk/workload/gpu_daemons.py",
    newest="4.9.0",
    checked=_CHECKED,
    source="https://newreleases.io/project/github/NVIDIA/dcgm-exporter/release/4.9.0",
    note="4.9.0 renames metrics and changes their units: our rules and dashboards must change with it.",
)
KUBE_STATE_METRICS = Pin(
    name="kube-state-metrics",
    version="7.4.1",
    used_in="cdk/workload/pod_states.py",
    newest="9.0.1",
    checked=_CHECKED,
    source="https://newreleases.io/project/github/prometheus-community/helm-charts/release/kube-state-metrics-9.0.1",
    note="Two major versions behind. Compare its values before the upgrade.",
)
FLUENT_BIT = Pin(
    name="aws-for-fluent-bit",
    version="3.4.15",
    used_in="cdk/observability/pod_logs.py",
    newest="3.4.15 of 4 September 2026",
    checked=_CHECKED,
    source=f"{_GITHUB}aws/aws-for-fluent-bit/releases/tag/v3.4.15",
)
PAUSE = Pin(name="pause", version="3.10.1", used_in="cdk/workload/warm_nodes.py")


def _action(name: str, version: str, used_in: str = "deploy.yml") -> Pin:
    """Return the row of an action, which the workflows pin by the commit of that tag."""
    return Pin(
        name=name,
        version=version,
        used_in=f".github/workflows/{used_in}",
        newest=version,
        checked=_CHECKED,
        source=f"{_GITHUB}{name}/releases/tag/{version}",
    )


ACTIONS = (
    _action("actions/checkout", "v7.0.1", "ci.yml"),
    _action("actions/setup-python", "v7.0.0", "ci.yml"),
    _action("actions/setup-node", "v7.0.0", "ci.yml"),
    _action("actions/upload-artifact", "v7.0.0"),
    _action("actions/download-artifact", "v8.0.1"),
    _action("aws-actions/configure-aws-credentials", "v6.2.3"),
)
PLATFORM = (POSTGRES, KUBERNETES, AMI_FAMILY, LAMBDA_PYTHON, WORKER_PYTHON, BUILD_IMAGE)
CHARTS = (KEDA, AUTOSCALER, DEVICE_PLUGIN, DCGM_EXPORTER, KUBE_STATE_METRICS)
IMAGES = (AUTOSCALER_IMAGE, FLUENT_BIT, PAUSE)
PINS = (*PLATFORM, *CHARTS, *IMAGES, *ACTIONS)
