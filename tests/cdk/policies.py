"""Every policy statement of the templates, wherever it stands: of roles, buckets, queues, keys, endpoints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.cdk.templates import Templates


@dataclass(frozen=True)
class Statement:
    path: str  #: of the construct, from the stack's noun on
    type: str  #: of the resource
    where: str  #: property that holds the document: PolicyDocument, AssumeRolePolicyDocument, KeyPolicy …
    said: dict[str, Any]

    @property
    def allows(self) -> bool:
        return self.said["Effect"] == "Allow"

    @property
    def actions(self) -> list[str]:
        return _listed(self.said.get("Action", []))

    @property
    def resources(self) -> list[Any]:
        return _listed(self.said.get("Resource", []))

    @property
    def principals(self) -> list[str]:
        """`Service logs.amazonaws.com`, `AWS *`; everyone is `*`."""
        principal = self.said.get("Principal", {})
        if isinstance(principal, str):
            return [principal]
        return [f"{kind} {_text(one)}" for kind, named in principal.items() for one in _listed(named)]

    def __str__(self) -> str:
        return f"{self.path} {self.where}: {json.dumps(self.said)}"


def statements(templates: Templates) -> Iterator[Statement]:
    for path, resource in templates.by_path().items():
        for where, said in _found(resource.get("Properties", {}), ""):
            yield Statement(path, resource["Type"], where, said)


def _found(value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        if "Effect" in value and ("Action" in value or "NotAction" in value):
            yield where, value
            return
        for key, inner in value.items():
            yield from _found(inner, where if key == "Statement" else key)
    elif isinstance(value, list):
        for inner in value:
            yield from _found(inner, where)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
