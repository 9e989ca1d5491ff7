"""The pure part of the emulated deployment, on templates made by hand."""

from __future__ import annotations

import copy

import pytest

from cdk.emulated import NotEmulated, Row, list_dangling, read_dropped_property, transform_template
from cdk.emulated.table import DROPPED
from cdk.emulated.values import DATABASE_HOST, DATABASE_PORT, ENDPOINT, PUBLISH_URL

PROXY = {"Type": "AWS::RDS::DBProxy", "Properties": {"DBProxyName": "p"}}
INSTANCE = {"Type": "AWS::RDS::DBInstance", "Properties": {"DBName": "tessera"}}


def _function(**variables):
    return {
        "Type": "AWS::Lambda::Function",
        "Properties": {"Handler": "lambdas.relay.handler", "Environment": {"Variables": variables}},
    }


def _variables(template, id="Relay"):
    return template["Resources"][id]["Properties"]["Environment"]["Variables"]


def test_the_template_given_is_left_as_it_was():
    template = {"Resources": {"Proxy": PROXY, "Relay": _function(TESSERA_REGION="eu-central-1")}}
    before = copy.deepcopy(template)
    transform_template(template)
    assert template == before


def test_a_dropped_resource_is_gone_and_stands_in_the_table():
    out, rows = transform_template({"Resources": {"Ip": {"Type": "AWS::EC2::EIP"}, "Other": {"Type": "AWS::EC2::EIP"}}})
    assert out["Resources"] == {}
    assert rows == (Row("AWS::EC2::EIP", "dropped", "", DROPPED["AWS::EC2::EIP"].why, 2),)


def test_outputs_that_other_stacks_read_get_the_substitute():
    out, _ = transform_template(
        {"Resources": {"Proxy": PROXY}, "Outputs": {"Host": {"Value": {"Fn::GetAtt": ["Proxy", "Endpoint"]}}}}
    )
    assert out["Outputs"] == {"Host": {"Value": {"Ref": DATABASE_HOST}}}
    assert out["Parameters"][DATABASE_HOST]["Type"] == "String"


def test_a_reference_without_a_substitute_is_refused_by_name():
    template = {"Resources": {"Proxy": PROXY}, "Outputs": {"Vpc": {"Value": {"Fn::GetAtt": ["Proxy", "VpcId"]}}}}
    with pytest.raises(NotEmulated, match="VpcId of AWS::RDS::DBProxy"):
        transform_template(template)


def test_a_type_that_the_table_does_not_know_is_refused_by_name():
    with pytest.raises(NotEmulated, match="AWS::Robots::Arm is new"):
        transform_template({"Resources": {"Arm": {"Type": "AWS::Robots::Arm"}}})


def test_all_that_the_table_lacks_is_told_at_once():
    arm, leg = {"Type": "AWS::Robots::Arm"}, {"Type": "AWS::Robots::Leg", "Properties": {"X": {"Ref": "Proxy2"}}}
    ip = {"Type": "AWS::EC2::EIP"}
    with pytest.raises(NotEmulated, match=r"Arm is new.*Leg is new.*Ref of AWS::EC2::EIP"):
        transform_template({"Resources": {"Arm": arm, "Leg": leg, "Proxy2": ip}})


def test_nobody_waits_for_what_was_dropped():
    topic = {"Type": "AWS::SQS::Queue", "DependsOn": ["Proxy", "Other"]}
    out, _ = transform_template({"Resources": {"Proxy": PROXY, "Queue": topic, "Other": {"Type": "AWS::SQS::Queue"}}})
    assert out["Resources"]["Queue"]["DependsOn"] == ["Other"]
    alone, _ = transform_template(
        {"Resources": {"Proxy": PROXY, "Queue": {"Type": "AWS::SQS::Queue", "DependsOn": "Proxy"}}}
    )
    assert "DependsOn" not in alone["Resources"]["Queue"]


def test_a_replacement_stands_under_the_same_id_and_may_be_meant_by_the_substitutes():
    out, rows = transform_template(
        {
            "Resources": {"Instance": INSTANCE},
            "Outputs": {
                "Secret": {"Value": {"Fn::GetAtt": ["Instance", "MasterUserSecret.SecretArn"]}},
                "Port": {"Value": {"Fn::GetAtt": ["Instance", "Endpoint.Port"]}},
            },
        }
    )
    assert out["Resources"]["Instance"]["Type"] == "AWS::SecretsManager::Secret"
    assert out["Outputs"]["Secret"] == {"Value": {"Ref": "Instance"}}
    assert out["Outputs"]["Port"] == {"Value": {"Ref": DATABASE_PORT}}
    assert [row.action for row in rows] == ["replaced"]


def test_a_functions_settings_are_those_of_this_machine():
    dsn = {
        "Fn::Join": ["", ["host=", {"Fn::GetAtt": ["Proxy", "Endpoint"]}, " port=5432 dbname=tessera user=tessera_api"]]
    }
    relay = _function(
        TESSERA_REGION="eu-central-1",
        TESSERA_DATABASE_DSN=dsn,
        TESSERA_DATABASE_IAM="True",
        TESSERA_APPSYNC_URL="https://x.appsync-api.eu-central-1.amazonaws.com/graphql",
        TESSERA_QUEUE_PREFIX="tessera-dev-",
    )
    out, rows = transform_template({"Resources": {"Proxy": PROXY, "Relay": relay}})
    assert _variables(out) == {
        "TESSERA_REGION": "eu-central-1",
        "TESSERA_DATABASE_DSN": {
            "Fn::Sub": f"host=${{{DATABASE_HOST}}} port=${{{DATABASE_PORT}}} dbname=tessera user=tessera_api"
        },
        "TESSERA_DATABASE_IAM": "False",
        "TESSERA_APPSYNC_URL": {"Ref": PUBLISH_URL},
        "TESSERA_QUEUE_PREFIX": "tessera-dev-",
        "TESSERA_ENDPOINT_URL": {"Ref": ENDPOINT},
    }
    assert set(out["Parameters"]) == {DATABASE_HOST, DATABASE_PORT, PUBLISH_URL, ENDPOINT}
    assert {(row.type, row.action) for row in rows} == {
        ("AWS::Lambda::Function", "rewritten"),
        ("AWS::RDS::DBProxy", "replaced"),
    }


def test_the_owner_signs_in_without_the_managed_secret():
    out, _ = transform_template(
        {
            "Resources": {
                "Relay": _function(TESSERA_DATABASE_DSN="host=h port=5432 dbname=tessera", TESSERA_OWNER_SECRET="arn:x")
            }
        }
    )
    assert set(_variables(out)) == {"TESSERA_DATABASE_DSN"}
    assert _variables(out)["TESSERA_DATABASE_DSN"]["Fn::Sub"].endswith("dbname=tessera user=tessera_owner")


def test_a_function_without_settings_is_left_alone():
    out, rows = transform_template({"Resources": {"Relay": _function()}})
    assert out["Resources"]["Relay"] == _function()
    assert rows == ()


def test_the_cdks_own_functions_are_dropped():
    provider = {"Type": "AWS::Lambda::Function", "Properties": {"Handler": "__entrypoint__.handler"}}
    out, rows = transform_template({"Resources": {"Provider": provider}})
    assert out["Resources"] == {}
    assert [(row.type, row.action) for row in rows] == [("AWS::Lambda::Function of the CDK itself", "dropped")]


def test_people_may_sign_in_by_password_beside_what_the_client_allows():
    client = {"Type": "AWS::Cognito::UserPoolClient", "Properties": {"ExplicitAuthFlows": ["ALLOW_USER_SRP_AUTH"]}}
    out, _ = transform_template({"Resources": {"Client": client}})
    flows = out["Resources"]["Client"]["Properties"]["ExplicitAuthFlows"]
    assert flows == ["ALLOW_USER_SRP_AUTH", "ALLOW_USER_PASSWORD_AUTH"]


@pytest.mark.parametrize("actions", ["sqs:SendMessage", ["sqs:GetQueueUrl", "sqs:SendMessage"]])
def test_a_role_that_sends_messages_may_send_them_in_batches_and_no_other_role_may(actions):
    sending = {"Effect": "Allow", "Action": actions, "Resource": "queue"}
    other = {"Effect": "Allow", "Action": ["sqs:ReceiveMessage"], "Resource": "queue"}
    policy = {"Type": "AWS::IAM::Policy", "Properties": {"PolicyDocument": {"Statement": [sending, other]}}}
    out, _ = transform_template({"Resources": {"Policy": policy}})
    first, second = out["Resources"]["Policy"]["Properties"]["PolicyDocument"]["Statement"]
    assert "sqs:SendMessage" in first["Action"]
    assert "sqs:SendMessageBatch" in first["Action"]
    assert second == other


def test_only_the_statement_about_plain_http_leaves_a_policy():
    tls = {"Effect": "Deny", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    public = {"Effect": "Deny", "Condition": {"Bool": {"aws:PrincipalIsAWSService": "false"}}}
    policy = {"Type": "AWS::SQS::QueuePolicy", "Properties": {"PolicyDocument": {"Statement": [tls, public]}}}
    out, _ = transform_template({"Resources": {"Policy": policy}})
    assert out["Resources"]["Policy"]["Properties"]["PolicyDocument"]["Statement"] == [public]


def test_names_that_lead_nowhere_are_told():
    queue = {"Type": "AWS::SQS::Queue", "DependsOn": "Gone", "Properties": {"QueueName": {"Ref": "AWS::StackName"}}}
    template = {"Resources": {"Queue": queue}, "Outputs": {"X": {"Value": {"Fn::Sub": "${Lost.Arn}"}}}}
    assert list_dangling(template) == {"Gone", "Lost"}


def test_what_a_dropped_resource_would_have_been_given_is_told_by_id():
    outputs = {"ToldRoleArnWorker": "arn:1", "ToldRoleArnKeda": "arn:2", "ToldManifestJob": "{}", "Url": "https://"}
    assert read_dropped_property(outputs, "RoleArn") == {"Worker": "arn:1", "Keda": "arn:2"}
