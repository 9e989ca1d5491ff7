"""The table of fixed names in cdk/fixed_names.py, held to the templates in both directions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cdk.fixed_names import FIXED_NAMES, RECREATED_LOG_GROUPS, REFERENCES, FixedName, Uniqueness
from tests.cdk.policies import statements
from tests.cdk.templates import Templates, synthesized
from tools.account.names import NOUNS
from tools.account.prerequisites import BOOTSTRAP_VERSION

#: Properties that name a resource, by the last part of their path.
NAMING = re.compile(r"(Name|Identifier|Identity|Alias|Aliases|Domain|DomainPrefix|Id)$")
Named = tuple[str, str, str]  #: type, property, name


def resolved(value: Any) -> str | None:
    """The name, with pseudo parameters as `⟨AWS::AccountId⟩`; None for one that CloudFormation fills in."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and set(value) == {"Fn::Join"}:
        separator, parts = value["Fn::Join"]
        texts = [resolved(part) for part in parts]
        return None if None in texts else separator.join(text or "" for text in texts)
    if isinstance(value, dict) and str(value.get("Ref", "")).startswith("AWS::"):
        return f"⟨{value['Ref']}⟩"
    return None


def names_in(properties: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """(property, name) of a resource and of its properties' own properties."""
    for key, value in properties.items():
        here = (*path, key)
        if NAMING.search(key):
            for one in value if isinstance(value, list) else [value]:
                if (name := resolved(one)) is not None:
                    yield ".".join(here), name
        elif isinstance(value, dict) and len(here) < 2:
            yield from names_in(value, here)


def fixed_names(templates: Templates) -> set[Named]:
    return {
        (resource["Type"], property, name)
        for _, resource, _ in templates.all_resources()
        if resource["Type"].startswith("AWS::")
        for property, name in names_in(resource.get("Properties", {}))
        if (resource["Type"], property) not in REFERENCES
    }


def rows_of(named: Named, templates: Templates) -> list[FixedName]:
    return [row for row in FIXED_NAMES if row.match(*named, templates.deployment.prefix)]


def test_every_fixed_name_has_one_reason(templates: Templates) -> None:
    found = fixed_names(templates)
    assert {named: len(rows_of(named, templates)) for named in found if len(rows_of(named, templates)) != 1} == {}


def test_every_reason_is_of_a_name_that_is_fixed(prod: Templates, furnished: Templates) -> None:
    met = {
        (row.type, row.property, pattern)
        for templates in (prod, furnished)
        for named in fixed_names(templates)
        for row in FIXED_NAMES
        for pattern in row.match(*named, templates.deployment.prefix)
    }
    assert {(row.type, row.property, one) for row in FIXED_NAMES for one in row.names} - met == set()


def test_what_outlives_its_stack_has_no_fixed_name(templates: Templates) -> None:
    kept = [r for _, r, _ in templates.all_resources() if r.get("DeletionPolicy", "").startswith("Retain")]
    assert {(r["Type"], name) for r in kept for name in names_in(r.get("Properties", {}))} == set()


def test_names_of_ours_hold_the_prefix_or_are_within_a_resource(templates: Templates) -> None:
    """So that several installations fit into one account."""
    prefix = templates.deployment.prefix
    plain = re.sub("[^a-z]", "", prefix)
    for type, property, name in fixed_names(templates):
        [row] = rows_of((type, property, name), templates)
        if row.uniqueness in {Uniqueness.OURS, Uniqueness.RECREATED}:
            environment = f"/{templates.deployment.environment}/"
            assert prefix in name or plain in name or environment in name, name


def test_stacks_of_another_environment_share_no_name(dev: Templates) -> None:
    other = synthesized(environment="lab", preset="dev")
    global_ones = {Uniqueness.OURS, Uniqueness.RECREATED}
    for named in fixed_names(dev) & fixed_names(other):
        assert all(row.uniqueness not in global_ones for row in rows_of(named, dev)), named


def test_the_preflight_looks_for_all_stacks_and_a_bootstrap_that_is_new_enough(dev: Templates) -> None:
    assert set(dev.by_noun) == set(NOUNS)
    for template in dev.by_noun.values():
        [assertion] = template["Rules"]["CheckBootstrapVersion"]["Assertions"]
        too_old = assertion["Assert"]["Fn::Not"][0]["Fn::Contains"][0]
        assert max(map(int, too_old)) < BOOTSTRAP_VERSION


def test_only_AWS_itself_can_write_to_a_group_that_it_recreates(templates: Templates) -> None:
    """A role of ours with logs:CreateLogGroup would make a group again after destroy: only RDS' monitoring has it."""
    makers = {s.path for s in statements(templates) if s.allows and "logs:CreateLogGroup" in s.actions}
    assert makers <= {"data/Database/MonitoringRole/DefaultPolicy/Resource"}


def test_groups_that_AWS_recreates_are_those_of_cluster_database_and_proxy(templates: Templates) -> None:
    prefix = templates.deployment.prefix
    groups = {name for type, _, name in fixed_names(templates) if type == "AWS::Logs::LogGroup"}
    services = {name for name in groups if re.match(r"/aws/(?!vendedlogs)", name)}
    assert services == {name.replace("{prefix}", prefix) for name in RECREATED_LOG_GROUPS}
