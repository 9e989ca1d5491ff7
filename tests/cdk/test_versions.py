"""The table of versions in cdk/versions.py, held to what the stacks, the images and the CI use."""

from __future__ import annotations

import json
import re
from datetime import date

import pytest

from cdk import versions
from cdk.versions import PINS, Pin
from tests.cdk.manifests import CHART, chart_values
from tests.cdk.templates import ROOT, Templates

WORKFLOWS = "\n".join(path.read_text() for path in sorted((ROOT / ".github/workflows").glob("*.yml")))


def base_images(dockerfile: str) -> set[str]:
    return set(re.findall(r"^ARG BASE=(\S+)", (ROOT / dockerfile).read_text(), re.M))


def test_postgres_is_pinned_by_its_major_version_and_upgrades_by_itself(templates: Templates) -> None:
    instance = templates.resource("AWS::RDS::DBInstance")["Properties"]
    assert instance["EngineVersion"] == versions.POSTGRES.version
    assert instance["EngineVersion"].isdecimal()
    assert instance["AutoMinorVersionUpgrade"] is True
    # AllowMajorVersionUpgrade stays unset: a changed row must not upgrade the data of a deployment unasked.
    assert "AllowMajorVersionUpgrade" not in instance


def test_parameters_of_postgres_are_of_its_family(templates: Templates) -> None:
    group = templates.resource("AWS::RDS::DBParameterGroup")["Properties"]
    assert group["Family"] == f"postgres{versions.POSTGRES.version}"


def test_cluster_and_nodes_have_the_pinned_kubernetes(templates: Templates) -> None:
    assert templates.resource("AWS::EKS::Cluster")["Properties"]["Version"] == versions.KUBERNETES.version
    for group in templates.resources("AWS::EKS::Nodegroup").values():
        assert group["Properties"]["Version"] == versions.KUBERNETES.version


def test_kubectl_has_the_minor_version_of_the_cluster() -> None:
    minor = versions.KUBERNETES.version.partition(".")[2]
    assert f"lambda_layer_kubectl_v{minor} import" in (ROOT / "cdk/cluster/stack.py").read_text()


def test_nodes_have_the_pinned_AMI_family(templates: Templates) -> None:
    for group in templates.resources("AWS::EKS::Nodegroup").values():
        assert group["Properties"]["AmiType"].startswith(f"{versions.AMI_FAMILY.version}_")


def test_functions_have_the_pinned_python(templates: Templates) -> None:
    ours = [f["Properties"] for f in templates.resources("AWS::Lambda::Function", "api", "data").values()]
    runtimes = {found["Runtime"] for found in ours if found.get("Handler", "").startswith("lambdas.")}
    assert runtimes == {f"python{versions.LAMBDA_PYTHON.version}"}


def test_every_chart_has_its_row(templates: Templates) -> None:
    charts = [found["Properties"] for found in templates.resources(CHART).values()]
    assert {(c["Chart"], c["Version"]) for c in charts} == {(pin.name, pin.version) for pin in versions.CHARTS}


def test_images_have_their_rows(templates: Templates) -> None:
    assert chart_values(templates, versions.AUTOSCALER.name)["image"]["tag"] == versions.AUTOSCALER_IMAGE.version
    tags = re.findall(r'"image[\\":]+([^"\\]+)', json.dumps(dict(templates.by_noun)))
    public = {tag.rpartition("/")[2] for tag in tags if "/" in tag and "dkr.ecr" not in tag}
    pinned = {f"{pin.name}:{pin.version}" for pin in versions.IMAGES}
    assert f"{versions.FLUENT_BIT.name}:{versions.FLUENT_BIT.version}" in public
    assert public <= pinned


def test_base_images_have_their_rows() -> None:
    pin = versions.WORKER_PYTHON
    assert base_images(pin.used_in) == {f"public.ecr.aws/docker/library/python:{pin.version}"}


def test_every_action_has_its_row() -> None:
    used = re.findall(r"uses: (\S+)@(\S+)(?: # (v[\d.]+))?", WORKFLOWS)
    assert {(name, version) for name, _, version in used} == {(pin.name, pin.version) for pin in versions.ACTIONS}
    assert {commit for _, commit, _ in used if not re.fullmatch("[0-9a-f]{40}", commit)} == set()


@pytest.mark.parametrize("pin", PINS, ids=lambda pin: pin.name)
def test_a_row_says_what_was_read_or_that_nothing_was(pin: Pin) -> None:
    assert (ROOT / pin.used_in).exists()
    assert bool(pin.checked) == pin.source.startswith("https://") == bool(pin.newest)
    assert pin.checked is None or pin.checked <= date.today()
