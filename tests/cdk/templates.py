"""The whole app, synthesized in this process: templates by noun, as plain dicts that a test may also damage."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk

from cdk.deployment import Deployment
from cdk.installation import Installation

ROOT = Path(__file__).parents[2]
Resource = dict[str, Any]


@dataclass(frozen=True)
class Templates:
    """`by_noun["data"]` is the data stack's template, as JSON."""

    deployment: Deployment
    by_noun: Mapping[str, dict[str, Any]] = field(repr=False)
    after: Mapping[str, set[str]]  #: stacks, by noun, to those that are deployed before them
    app: cdk.App = field(repr=False)  #: whose constructs the templates were made from
    warnings: tuple[str, ...]  #: of the CDK, about what it was asked to make

    def resources(self, type: str, *nouns: str) -> dict[str, Resource]:
        """Resources of a CloudFormation type, by logical id, of the stacks named or of all."""
        return {id: found for id, found, _ in self._all(nouns) if found["Type"] == type}

    def resource(self, type: str, *nouns: str) -> Resource:
        """The only one of its type."""
        found = self.resources(type, *nouns)
        assert len(found) == 1, f"one {type} expected, found {sorted(found)}"
        return next(iter(found.values()))

    def all_resources(self) -> Iterator[tuple[str, Resource, str]]:
        """(logical id, resource, noun of its stack)"""
        return self._all(())

    def by_path(self) -> dict[str, Resource]:
        """Resources by the path of their construct, which begins with the noun: `data/Database/Proxy/Resource`."""
        return {self.short(r["Metadata"]["aws:cdk:path"]): r for _, r, _ in self._all(()) if "Metadata" in r}

    def short(self, path: str) -> str:
        """A construct's path as in `by_path`."""
        return path.removeprefix(f"{self.deployment.prefix}-")

    def damaged(self) -> Templates:
        """A copy that may be changed."""
        return replace(self, by_noun=copy.deepcopy(dict(self.by_noun)), after=copy.deepcopy(dict(self.after)))

    def _all(self, nouns: tuple[str, ...]) -> Iterator[tuple[str, Resource, str]]:
        for noun, template in self.by_noun.items():
            if not nouns or noun in nouns:
                for id, resource in template.get("Resources", {}).items():
                    yield id, resource, noun


def synthesized(**context: Any) -> Templates:
    """Without bundling: the functions' code is not what templates are about."""
    given = json.loads((ROOT / "cdk.json").read_text())["context"]
    settings = {"aws:cdk:bundling-stacks": [], "aws:cdk:enable-path-metadata": True}
    with tempfile.TemporaryDirectory() as outdir:
        app = cdk.App(context={**given, **settings}, outdir=outdir, builtin_cloud_formation_validation=False)
        deployment = Deployment.from_context(context)
        installation = Installation(app, deployment)
        assembly = app.synth()
        made = {noun: assembly.get_stack_by_name(stack.stack_name) for noun, stack in installation.stacks.items()}
        nouns = {stack.id: noun for noun, stack in made.items()}
        return Templates(
            deployment=deployment,
            by_noun={noun: stack.template for noun, stack in made.items()},
            after={noun: {nouns[d.id] for d in s.dependencies if d.id in nouns} for noun, s in made.items()},
            app=app,
            warnings=tuple(f"{m.id}: {m.entry.data}" for stack in made.values() for m in stack.messages),
        )
