"""Transforms a template of the real app so that MiniStack can deploy it. It is pure: the table states the differences,
and they are returned as rows.

No reference is left dangling: a reference to a dropped resource becomes the table's substitute, or is an error.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cdk.emulated.references import iterate_references, resolve_references
from cdk.emulated.rewriting import REWRITTEN
from cdk.emulated.table import ATTRIBUTES, DEPLOYED, DROPPED, DROPPED_SOME, SELF, Dropped
from cdk.emulated.values import PARAMETERS

Template = dict[str, Any]
Resource = dict[str, Any]
TOLD = "Told"  #: begins the outputs that hold properties of what was dropped


class NotEmulated(Exception):
    """The table does not say what to do with something in a template."""


@dataclass(frozen=True, order=True, slots=True)
class Row:
    """One line of the printed table."""

    type: str
    action: str  #: "dropped", "replaced" or "rewritten"
    instead: str
    why: str
    count: int = 1


def transform_template(template: Template) -> tuple[Template, tuple[Row, ...]]:
    """Return the template for MiniStack, and the rows of its differences. Raises NotEmulated with all that the table
    lacks."""
    resources: Mapping[str, Resource] = template.get("Resources", {})
    dropped = {id: rule for id, resource in resources.items() if (rule := _rule(resource)) is not None}
    rows = [_row(_name(resources[id]["Type"], rule), rule) for id, rule in dropped.items()]
    lacks = {resource["Type"] for id, resource in resources.items() if id not in dropped} - DEPLOYED
    faults = [f"{type} is new: it belongs into DEPLOYED, or into DROPPED." for type in sorted(lacks)]
    kept: dict[str, Resource] = {}
    for id, resource in resources.items():
        if id not in dropped:
            kept[id], more = _rewrite(resource)
            rows.extend(more)
        elif (replacement := dropped[id].replacement) is not None:
            kept[id] = dict(replacement)
    outputs = {**template.get("Outputs", {})}
    for id, rule in dropped.items():
        outputs |= {f"{TOLD}{name}{id}": {"Value": resources[id]["Properties"][name]} for name in rule.tells}
    resources_left = {id: _drop_dependencies(resource, kept) for id, resource in kept.items()}
    out = _resolve({**template, "Resources": resources_left, "Outputs": outputs}, resources, dropped, faults)
    if faults:
        raise NotEmulated(f"cdk/emulated/table.py lacks something. {' '.join(dict.fromkeys(faults))}")
    out["Parameters"] = {**template.get("Parameters", {}), **_parameters(out)}
    return out, _count_rows(rows)


def list_dangling(template: Template) -> frozenset[str]:
    """Return the names that a template refers to and does not have."""
    held = {*template.get("Resources", {}), *template.get("Parameters", {})}
    named = {id for part in ("Resources", "Outputs") for id, _ in iterate_references(template.get(part, {}))}
    waited_for = {id for resource in template.get("Resources", {}).values() for id in _depends_on(resource)}
    return frozenset(id for id in named | waited_for if id not in held and not id.startswith("AWS::"))


def read_dropped_property(outputs: Mapping[str, str], property: str) -> dict[str, str]:
    """Return `property` of each dropped resource from the outputs of a deployed stack, by logical id."""
    start = f"{TOLD}{property}"
    return {name.removeprefix(start): value for name, value in outputs.items() if name.startswith(start)}


def _rule(resource: Resource) -> Dropped | None:
    some = DROPPED_SOME.get(resource["Type"])
    if some is not None and some.applies(resource.get("Properties", {})):
        return some.rule
    return DROPPED.get(resource["Type"])


def _rewrite(resource: Resource) -> tuple[Resource, tuple[Row, ...]]:
    rule = REWRITTEN.get(resource["Type"])
    before = resource.get("Properties", {})
    if rule is None or (after := rule.how(before)) == before:
        return resource, ()
    return {**resource, "Properties": after}, (Row(resource["Type"], "rewritten", rule.what, rule.why),)


def _name(type: str, rule: Dropped) -> str:
    some = DROPPED_SOME.get(type)
    return f"{type} {some.which}" if some is not None and some.rule is rule else type


def _row(type: str, rule: Dropped) -> Row:
    return Row(type, "replaced" if rule.instead else "dropped", rule.instead or "", rule.why)


def _count_rows(rows: list[Row]) -> tuple[Row, ...]:
    counts = Counter(rows)
    return tuple(Row(row.type, row.action, row.instead, row.why, count) for row, count in sorted(counts.items()))


def _drop_dependencies(resource: Resource, kept: Mapping[str, Resource]) -> Resource:
    """Return the resource with dependencies on kept resources only."""
    waited_for = [id for id in _depends_on(resource) if id in kept]
    without = {name: value for name, value in resource.items() if name != "DependsOn"}
    return {**without, "DependsOn": waited_for} if waited_for else without


def _depends_on(resource: Resource) -> list[str]:
    waited_for = resource.get("DependsOn", [])
    return [waited_for] if isinstance(waited_for, str) else waited_for


def _resolve(
    template: Template, resources: Mapping[str, Resource], dropped: Mapping[str, Dropped], faults: list[str]
) -> Template:
    def find_substitute(id: str, attribute: str | None) -> Any:
        if id in dropped:
            rule = dropped[id]
            found = rule.ref if attribute is None else rule.attributes.get(attribute)
            if found is None:
                what = "Ref" if attribute is None else attribute
                faults.append(f"{what} of {resources[id]['Type']} is referred to and has no substitute.")
            return json.loads(json.dumps(found).replace(SELF, id))
        if id in resources and attribute is not None:
            resource = resources[id]
            held = ATTRIBUTES.get(resource["Type"], {}).get(attribute)
            return held(resource["Properties"]) if held else None
        return None

    return {part: resolve_references(value, find_substitute) for part, value in template.items()}


def _parameters(template: Template) -> Template:
    used = {id for part in ("Resources", "Outputs") for id, _ in iterate_references(template.get(part, {}))}
    return {name: {"Type": "String", "Description": text} for name, text in PARAMETERS.items() if name in used}
