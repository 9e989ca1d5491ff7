"""The real templates: each of their types is known, nothing dangles, and the table has no line that is never used."""

from __future__ import annotations

import json

import pytest

from cdk.emulated import list_dangling, transform_template
from cdk.emulated.rewriting import REWRITTEN
from cdk.emulated.table import ATTRIBUTES, DEPLOYED, DROPPED, DROPPED_SOME
from cdk.emulated.values import PARAMETERS, VARIABLES
from local.emulated.synthesis import CONTEXT
from tests.cdk.templates import Templates, synthesized


@pytest.fixture(scope="module")
def templates() -> Templates:
    return synthesized(**CONTEXT)


@pytest.fixture(scope="module")
def made(templates):
    return {noun: transform_template(template) for noun, template in templates.by_noun.items()}


def test_nothing_dangles(made):
    assert {noun: names for noun, (template, _) in made.items() if (names := list_dangling(template))} == {}


def test_each_type_is_deployed_or_in_the_table(templates, made):
    told = {row.type.partition(" ")[0] for _, rows in made.values() for row in rows}
    types = {resource["Type"] for _, resource, _ in templates.all_resources()}
    assert types <= DEPLOYED | told


def test_no_type_is_in_both_lists():
    assert DEPLOYED & DROPPED.keys() == set()


def test_no_line_of_the_table_is_unused(templates):
    types = {resource["Type"] for _, resource, _ in templates.all_resources()}
    assert (DEPLOYED | DROPPED.keys() | REWRITTEN.keys() | ATTRIBUTES.keys()) - types == set()


def test_of_each_type_that_is_dropped_in_part_some_are_dropped(templates):
    for type, some in DROPPED_SOME.items():
        assert any(some.applies(one["Properties"]) for one in templates.resources(type).values()), type


def test_no_setting_is_rewritten_that_nobody_has(templates):
    variables = {
        name
        for function in templates.resources("AWS::Lambda::Function").values()
        for name in function["Properties"].get("Environment", {}).get("Variables", {})
    }
    assert set(VARIABLES) - variables == set()


def test_no_function_is_sent_to_an_address_of_aws(made):
    for template, _ in made.values():
        for id, one in template["Resources"].items():
            variables = one.get("Properties", {}).get("Environment", {}).get("Variables", {})
            told = {name for name, value in variables.items() if "amazonaws.com" in json.dumps(value)}
            # The issuer is a name that tokens carry, also those of the emulator.
            assert told <= {*VARIABLES, "TESSERA_ISSUER"}, id


def test_every_parameter_is_used(made):
    declared = {name for template, _ in made.values() for name in template["Parameters"]}
    assert set(PARAMETERS) <= declared
