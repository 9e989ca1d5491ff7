"""The real templates: each of their types is known, nothing dangles, and the table has no line that is never used."""

from __future__ import annotations

import json

import pytest

from cdk.emulated import dangling, emulated
from cdk.emulated.rewriting import REWRITTEN
from cdk.emulated.table import ATTRIBUTES, DEPLOYED, DROPPED
from cdk.emulated.values import PARAMETERS, VARIABLES
from tests.cdk.templates import Templates, synthesized


@pytest.fixture(scope="module")
def templates() -> Templates:
    return synthesized(environment="emulated", preset="dev", emulated=True)


@pytest.fixture(scope="module")
def made(templates):
    return {noun: emulated(template) for noun, template in templates.by_noun.items()}


def test_nothing_dangles(made):
    assert {noun: names for noun, (template, _) in made.items() if (names := dangling(template))} == {}


def test_each_type_is_deployed_or_in_the_table(templates, made):
    told = {row.type for _, rows in made.values() for row in rows}
    types = {resource["Type"] for _, resource, _ in templates.all_resources()}
    assert types <= DEPLOYED | told


def test_no_type_is_in_both_lists():
    assert DEPLOYED & DROPPED.keys() == set()


def test_no_line_of_the_table_is_unused(templates):
    types = {resource["Type"] for _, resource, _ in templates.all_resources()}
    assert (DEPLOYED | DROPPED.keys() | REWRITTEN.keys() | ATTRIBUTES.keys()) - types == set()


def test_no_setting_is_rewritten_that_nobody_has(templates):
    variables = {
        name
        for function in templates.resources("AWS::Lambda::Function").values()
        for name in function["Properties"].get("Environment", {}).get("Variables", {})
    }
    assert set(VARIABLES) - variables == set()


def test_no_function_is_sent_to_aws(made):
    for template, _ in made.values():
        for id, one in template["Resources"].items():
            if one["Type"] == "AWS::Lambda::Function":
                variables = one["Properties"].get("Environment", {}).get("Variables", {})
                addresses = json.dumps({name: value for name, value in variables.items() if name != "TESSERA_ISSUER"})
                assert "https://" not in addresses, id


def test_every_parameter_is_used(made):
    declared = {name for template, _ in made.values() for name in template["Parameters"]}
    assert set(PARAMETERS) <= declared
