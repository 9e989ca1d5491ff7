"""What the cluster is given: Kubernetes objects and charts, out of the templates, and changed back into them.

A value that CloudFormation fills in later stands in the text as ⟦{"Ref": "Queue"}⟧.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.cdk.templates import Resource, Templates

MANIFEST = "Custom::AWSCDK-EKS-KubernetesResource"
CHART = "Custom::AWSCDK-EKS-HelmChart"
Object = dict[str, Any]


def objects(templates: Templates, kind: str | None = None) -> list[Object]:
    """Of one kind, or all."""
    return [found for _, found in _objects(templates) if kind in (None, found["kind"])]


def one_object(templates: Templates, kind: str, name: str) -> Object:
    found = [one for one in objects(templates, kind) if one["metadata"]["name"] == name]
    assert len(found) == 1, f"one {kind} {name} expected, found {len(found)}"
    return found[0]


def chart_values(templates: Templates, chart: str) -> dict[str, Any]:
    """What the chart of that name is given."""
    return json.loads(_text(_chart(templates, chart).get("Values", "{}")))


def change_values(templates: Templates, chart: str, change: Callable[[dict[str, Any]], None]) -> None:
    """`change` is called with the values; what it does to them is written into the template."""
    values = chart_values(templates, chart)
    change(values)
    _chart(templates, chart)["Values"] = _joined(_dumped(values))


def change_objects(templates: Templates, kind: str, change: Callable[[Object], None]) -> None:
    """`change` is called with every object of that kind; what it does to it is written into the template."""
    for resource, listed in _manifests(templates):
        chosen = [found for found in listed if found["kind"] == kind]
        for found in chosen:
            change(found)
        if chosen:
            resource["Properties"]["Manifest"] = _joined(_dumped(listed))


def _objects(templates: Templates) -> Iterator[tuple[Resource, Object]]:
    for resource, listed in _manifests(templates):
        for found in listed:
            yield resource, found


def _manifests(templates: Templates) -> Iterator[tuple[Resource, list[Object]]]:
    for resource in templates.resources(MANIFEST).values():
        yield resource, json.loads(_text(resource["Properties"]["Manifest"]))


def _chart(templates: Templates, chart: str) -> dict[str, Any]:
    found = [r["Properties"] for r in templates.resources(CHART).values() if r["Properties"]["Chart"] == chart]
    assert len(found) == 1, f"one chart {chart} expected, found {len(found)}"
    return found[0]


def _dumped(value: Any) -> str:
    """As the CDK writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    separator, parts = value["Fn::Join"]
    assert separator == ""
    return "".join(part if isinstance(part, str) else f"⟦{_quoted(json.dumps(part))}⟧" for part in parts)


def _joined(text: str) -> Any:
    parts = re.split(r"⟦(.*?)⟧", text)
    parts[1::2] = [json.loads(json.loads(f'"{part}"')) for part in parts[1::2]]
    return {"Fn::Join": ["", parts]} if len(parts) > 1 else text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
