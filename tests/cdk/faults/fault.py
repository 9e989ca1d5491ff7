"""A mistake, and the facts that must notice it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from tests.cdk.templates import Resource, Templates

Fact = Callable[[Templates], None]


@dataclass(frozen=True)
class Fault:
    name: str  #: what is wrong then
    seed: Callable[[Templates], None]
    facts: tuple[Fact, ...]  #: each of which must fail
    preset: str = "prod"  #: the fixture with the templates

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def at(templates: Templates, pattern: str) -> list[Resource]:
    """Resources whose path matches; there must be some."""
    found = [resource for path, resource in templates.by_path().items() if fnmatchcase(path, pattern)]
    assert found, f"nothing at {pattern}"
    return found


def set_at(pattern: str, **properties: Any) -> Callable[[Templates], None]:
    """Seeds properties into all resources whose path matches; None removes one."""

    def seed(templates: Templates) -> None:
        for resource in at(templates, pattern):
            given = resource["Properties"]
            given.update(properties)
            resource["Properties"] = {name: value for name, value in given.items() if value is not None}

    return seed


def without(pattern: str) -> Callable[[Templates], None]:
    """Seeds the absence of all resources whose path matches."""

    def seed(templates: Templates) -> None:
        gone = at(templates, pattern)
        for template in templates.by_noun.values():
            kept = template.get("Resources", {})
            template["Resources"] = {id: r for id, r in kept.items() if not any(r is one for one in gone)}

    return seed
