"""The stacks, as a whole."""

from __future__ import annotations

import json

from tests.cdk.templates import Templates


def test_no_stack_exports_a_value_F57(templates: Templates) -> None:
    assert "Fn::ImportValue" not in json.dumps(templates.by_noun)


def test_no_stack_is_near_the_limit_of_500_resources(templates: Templates) -> None:
    assert {noun: n for noun, t in templates.by_noun.items() if (n := len(t.get("Resources", {}))) > 300} == {}
