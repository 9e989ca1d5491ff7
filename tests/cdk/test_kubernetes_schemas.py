"""Every Kubernetes object against its schema, unknown fields refused: the API server drops them silently."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from tests.cdk.manifests import Object, objects
from tests.cdk.templates import ROOT, Templates

KEDA = ROOT.parent / "shared/schemas/keda"
KEDA_API = "keda.sh/v1alpha1"


def test_kubernetes_takes_every_field_of_every_object(templates: Templates) -> None:
    version = templates.resource("AWS::EKS::Cluster")["Properties"]["Version"]
    own = [one for one in objects(templates) if one["apiVersion"] != KEDA_API]
    assert own
    found = [problem for one in own for problem in _problems(one, version)]
    assert not found, "\n".join(found)


def test_keda_takes_every_field_of_every_object(templates: Templates) -> None:
    if not KEDA.is_dir():
        pytest.skip("the folder ../shared/schemas/keda is absent; it holds KEDA's schemas that this test reads")
    kedas = [one for one in objects(templates) if one["apiVersion"] == KEDA_API]
    assert kedas
    found = [f"{_named(one)}: {problem}" for one in kedas for problem in keda_problems(one)]
    assert not found, "\n".join(found)


@pytest.mark.skipif(not KEDA.is_dir(), reason="the folder ../shared/schemas/keda is absent")
def test_a_trigger_field_at_the_wrong_level_is_refused_F11() -> None:
    trigger = {"type": "aws-sqs-queue", "scaleOnInFlight": "true", "metadata": {"queueURL": "q", "awsRegion": "r"}}
    job = {
        "apiVersion": KEDA_API,
        "kind": "ScaledJob",
        "metadata": {"name": "worker"},
        "spec": {"jobTargetRef": {"template": {"spec": {"containers": []}}}, "triggers": [trigger]},
    }
    assert keda_problems(job) == [
        "spec.triggers.0: Additional properties are not allowed ('scaleOnInFlight' was unexpected)"
    ]
    trigger.pop("scaleOnInFlight")
    assert keda_problems(job) == []


def keda_problems(one: Object) -> list[str]:
    found = _keda_validators()[one["kind"]].iter_errors(one)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in found]


def _problems(one: Object, version: str) -> list[str]:
    try:
        kubernetes_validate.validate(one, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [f"{_named(one)}: {'.'.join(map(str, error.absolute_path))}: {error.message}"]
    return []


def _named(one: Object) -> str:
    return f"{one['kind']} {one['metadata']['name']}"


@cache
def _keda_validators() -> dict[str, jsonschema.Draft202012Validator]:
    definitions = [yaml.load(path.read_text(), yaml.CSafeLoader) for path in sorted(Path(KEDA).glob("*.yaml"))]
    return {
        definition["spec"]["names"]["kind"]: jsonschema.Draft202012Validator(
            _closed(
                next(v for v in definition["spec"]["versions"] if v["name"] == "v1alpha1")["schema"]["openAPIV3Schema"]
            )
        )
        for definition in definitions
    }


def _closed(schema: Any) -> Any:
    """The same schema, taking no field that it does not name. A bare object, as metadata is, stays open."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    is_open = "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields")
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object" and not is_open:
        closed["additionalProperties"] = False
    return closed
