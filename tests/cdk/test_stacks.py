"""The stacks, as a whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tests.cdk.templates import Templates

#: The CDK's helpers that run at deploys, and `Custom::WorkerImage` of ours where CodeBuild builds it. Any other is a
#: Lambda of its own that a plain property would spare.
CUSTOM_RESOURCES = {
    "Custom::AWSCDK-EKS-HelmChart",
    "Custom::AWSCDK-EKS-KubernetesResource",
    "Custom::CDKBucketDeployment",
    "Custom::Trigger",
    "Custom::VpcRestrictDefaultSG",
    "Custom::WorkerImage",
}


def test_no_stack_exports_a_value_F57(templates: Templates) -> None:
    assert "Fn::ImportValue" not in json.dumps(templates.by_noun)
    outputs = [output for template in templates.by_noun.values() for output in template.get("Outputs", {}).values()]
    assert outputs
    assert [output for output in outputs if "Export" in output] == []


def test_another_stacks_value_is_only_in_functions_that_take_it(templates: Templates) -> None:
    """cfn-lint's authors tried them on real stacks (its pull requests 4495 and 4519); `Fn::Split` is not among them."""
    for noun, template in templates.by_noun.items():
        assert set(functions_around(template, "Fn::GetStackOutput")) <= {"Fn::Join", "Fn::Sub", "Fn::Select"}, noun


def functions_around(value: object, sought: str, around: str | None = None) -> Iterator[str]:
    """Yield the innermost function of CloudFormation around each `sought` that is within one."""
    if isinstance(value, list):
        for item in value:
            yield from functions_around(item, sought, around)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == sought and around is not None:
                yield around
            yield from functions_around(item, sought, key if key.startswith("Fn::") else around)


def test_a_stack_comes_after_those_whose_values_it_takes(templates: Templates) -> None:
    for noun, template in templates.by_noun.items():
        taken = {templates.short(name) for name in re.findall(r'"StackName": "([a-z0-9-]+)"', json.dumps(template))}
        assert taken <= templates.after[noun], noun


def test_all_that_reads_the_database_comes_after_its_migrations_F52(templates: Templates) -> None:
    """They are a resource of the data stack, which is not complete until they have run."""
    assert templates.resources("Custom::Trigger", "data")
    for noun, template in templates.by_noun.items():
        if noun != "data" and "rds-db:connect" in json.dumps(template):
            assert "data" in templates.after[noun], noun


def test_no_stack_is_near_the_limits_of_CloudFormation(templates: Templates) -> None:
    for noun, template in templates.by_noun.items():
        assert len(template["Resources"]) < 400, f"{noun}: at most 500 resources are taken"
        assert len(json.dumps(template, indent=1)) < 800_000, f"{noun}: at most 1 MB is taken"


def test_the_cdk_warns_of_nothing(templates: Templates) -> None:
    assert templates.warnings == ()


def test_no_custom_resource_comes_unseen(templates: Templates) -> None:
    types = {resource["Type"] for _, resource, _ in templates.all_resources()}
    assert {type for type in types if type.startswith("Custom::")} <= CUSTOM_RESOURCES


def test_every_log_group_is_encrypted_and_forgets(templates: Templates) -> None:
    groups = templates.resources("AWS::Logs::LogGroup")
    assert groups
    assert [
        id for id, group in groups.items() if not {"KmsKeyId", "RetentionInDays"} <= group["Properties"].keys()
    ] == []


def test_every_function_of_ours_has_a_log_group_of_its_own(templates: Templates) -> None:
    groups = templates.resources("AWS::Logs::LogGroup")
    functions = templates.resources("AWS::Lambda::Function").values()
    ours = [
        function["Properties"]
        for function in functions
        if function["Properties"].get("Handler", "").startswith("lambdas.")
    ]
    named = [function["LoggingConfig"]["LogGroup"]["Ref"] for function in ours]
    assert named
    assert set(named) <= groups.keys()
    assert len(set(named)) == len(named)
