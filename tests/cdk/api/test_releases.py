"""How a release replaces functions: little by little, and back when it fails."""

from __future__ import annotations

import json
from typing import Any

from adapters.settings.queues import WOKEN
from cdk.api.functions import ANSWERING
from tests.cdk.templates import Templates, synthesized

VERSIONED = {*ANSWERING, *(woken.name for woken in WOKEN.values())}
ALARM = "AWS::CloudWatch::Alarm"
MINUTES = {"CodeDeployDefault.LambdaCanary10Percent5Minutes": 5, "CodeDeployDefault.LambdaCanary10Percent15Minutes": 15}


def aliases(templates: Templates) -> dict[str, tuple[str, dict[str, Any]]]:
    """Logical ids and resources of aliases, by the name of their function."""
    found = templates.resources("AWS::Lambda::Alias", "api")
    return {one["Metadata"]["aws:cdk:path"].split("/")[-2]: (id, one) for id, one in found.items()}


def deployment_group(templates: Templates, name: str) -> dict[str, Any]:
    group = aliases(templates)[name][1]["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]["DeploymentGroupName"]["Ref"]
    return templates.resources("AWS::CodeDeploy::DeploymentGroup")[group]["Properties"]


def alarms_of(templates: Templates, name: str) -> list[dict[str, Any]]:
    ids = [alarm["Name"]["Ref"] for alarm in deployment_group(templates, name)["AlarmConfiguration"]["Alarms"]]
    return [templates.resources(ALARM)[id]["Properties"] for id in ids]


def test_functions_behind_the_gateway_and_behind_queues_have_an_alias(templates: Templates) -> None:
    assert set(aliases(templates)) == VERSIONED


def test_an_alias_moves_to_the_new_version_in_the_hands_of_CodeDeploy(templates: Templates) -> None:
    for name, (_, alias) in aliases(templates).items():
        version, _ = alias["Properties"]["FunctionVersion"]["Fn::GetAtt"]
        published = templates.resources("AWS::Lambda::Version")[version]["Properties"]["FunctionName"]["Ref"]
        assert published == alias["Properties"]["FunctionName"]["Ref"], name


def test_a_tenth_of_the_calls_comes_first_and_messages_are_watched_longer(templates: Templates) -> None:
    for name in VERSIONED:
        minutes = MINUTES[deployment_group(templates, name)["DeploymentConfigName"]]
        assert minutes == (5 if name in ANSWERING else 15), name


def test_an_alarm_brings_the_last_version_back(templates: Templates) -> None:
    for name in VERSIONED:
        group = deployment_group(templates, name)
        assert group["AlarmConfiguration"]["Enabled"] is True
        assert group["AutoRollbackConfiguration"]["Enabled"] is True
        assert {"DEPLOYMENT_STOP_ON_ALARM", "DEPLOYMENT_FAILURE"} <= set(group["AutoRollbackConfiguration"]["Events"])


def test_a_crash_of_the_new_version_is_an_alarm_and_of_the_last_one_none(templates: Templates) -> None:
    for name, (_, alias) in aliases(templates).items():
        [crashes] = [alarm for alarm in alarms_of(templates, name) if alarm["MetricName"] == "Errors"]
        dimensions = {one["Name"]: one["Value"] for one in crashes["Dimensions"]}
        assert dimensions["ExecutedVersion"] == alias["Properties"]["FunctionVersion"]
        assert dimensions["FunctionName"] == alias["Properties"]["FunctionName"]
        assert (crashes["Namespace"], crashes["Period"], crashes["Threshold"]) == ("AWS/Lambda", 60, 1)
        assert crashes["TreatMissingData"] == "notBreaching"


def test_what_a_function_answers_and_logs_as_failed_is_an_alarm_too(templates: Templates) -> None:
    """A failed message is named in the answer, and a failed request is a 5xx: neither is an error of the function."""
    filters = [one["Properties"] for one in templates.resources("AWS::Logs::MetricFilter", "api").values()]
    for name in VERSIONED:
        [failures] = [alarm for alarm in alarms_of(templates, name) if alarm["MetricName"] == name]
        [counted] = [one for one in filters if one["MetricTransformations"][0]["MetricName"] == name]
        assert counted["FilterPattern"] == '{ $.level = "ERROR" }'
        assert counted["MetricTransformations"][0]["MetricNamespace"] == failures["Namespace"]
        group = templates.by_path()[f"api/Functions/{name}/Resource"]["Properties"]["LoggingConfig"]["LogGroup"]
        assert counted["LogGroupName"] == group


def test_everybody_who_calls_a_function_with_an_alias_calls_the_alias(templates: Templates) -> None:
    """Gateway, queues, schedules, and who lets them in. A call of the function itself would reach the new code at
    once."""
    calling = (
        "AWS::ApiGateway::Method",
        "AWS::Lambda::EventSourceMapping",
        "AWS::Events::Rule",
        "AWS::Lambda::Permission",
    )
    ids = {alias["Properties"]["FunctionName"]["Ref"]: id for id, alias in aliases(templates).values()}
    called = json.dumps([one for type in calling for one in templates.resources(type, "api").values()])
    assert [id for id in ids if f'"{id}"' in called] == []
    assert [id for id in ids.values() if f'"{id}"' not in called] == []


def test_the_emulated_deployment_has_no_CodeDeploy_to_wait_for() -> None:
    emulated = synthesized(environment="emulated", preset="dev", emulated=True)
    assert emulated.resources("AWS::CodeDeploy::DeploymentGroup") == {}
    assert len(emulated.resources("AWS::Lambda::EventSourceMapping")) == len(WOKEN)
