"""Push: who subscribes, who publishes, what is logged."""

from __future__ import annotations

import re
from typing import Any

from graphql import build_schema

from local.appsync.schema import PRELUDE
from tests.cdk.policies import statements
from tests.cdk.templates import Templates

MUTATIONS = {"publishJobUpdate", "endSubscriptions"}


def api(templates: Templates) -> dict[str, Any]:
    return templates.resource("AWS::AppSync::GraphQLApi", "realtime")["Properties"]


def schema(templates: Templates) -> dict[str, Any]:
    return templates.resource("AWS::AppSync::GraphQLSchema", "realtime")["Properties"]


def test_subscribers_pass_our_authorizer_and_publishers_sign_with_IAM_F33(templates: Templates) -> None:
    assert api(templates)["AuthenticationType"] == "AWS_LAMBDA"
    assert [mode["AuthenticationType"] for mode in api(templates)["AdditionalAuthenticationProviders"]] == ["AWS_IAM"]


def test_an_answer_of_the_authorizer_is_not_kept_so_that_nobody_subscribes_after_a_revocation(
    templates: Templates,
) -> None:
    assert api(templates)["LambdaAuthorizerConfig"]["AuthorizerResultTtlInSeconds"] == 0


def test_both_mutations_are_open_to_IAM_alone(templates: Templates) -> None:
    written = schema(templates)["Definition"]
    mutation = build_schema(PRELUDE + written).mutation_type
    assert mutation is not None
    assert mutation.fields.keys() == MUTATIONS
    for field in mutation.fields.values():
        directives = (field.ast_node and field.ast_node.directives) or ()
        assert [one.name.value for one in directives] == ["aws_iam"]


def test_only_the_relay_may_call_the_mutations(templates: Templates) -> None:
    calling = [one for one in statements(templates) if any(act.startswith("appsync:") for act in one.actions)]
    assert {one.path for one in calling} == {"api/Functions/relayRole/DefaultPolicy/Resource"}
    allowed = [
        re.findall(r"/types/Mutation/fields/(\w+)", str(resource)) for one in calling for resource in one.resources
    ]
    assert sorted(allowed) == [[name] for name in sorted(MUTATIONS)]


def test_no_key_opens_push(templates: Templates) -> None:
    assert not templates.resources("AWS::AppSync::ApiKey")


def test_appsync_may_ask_the_authorizer_for_this_api_alone(templates: Templates) -> None:
    permission = templates.resource("AWS::Lambda::Permission", "realtime")["Properties"]
    assert permission["Principal"] == "appsync.amazonaws.com"
    assert permission["SourceArn"]["Fn::GetAtt"][1] == "Arn"


def test_mutation_and_subscription_run_our_resolvers(templates: Templates) -> None:
    found = templates.resources("AWS::AppSync::Resolver", "realtime").values()
    fields = {(one["Properties"]["TypeName"], one["Properties"]["FieldName"]) for one in found}
    assert fields == {
        ("Mutation", "publishJobUpdate"),
        ("Mutation", "endSubscriptions"),
        ("Subscription", "onJobUpdate"),
    }
    assert all(one["Properties"]["Runtime"] == {"Name": "APPSYNC_JS", "RuntimeVersion": "1.0.0"} for one in found)


def test_push_tells_nobody_its_schema_and_logs_no_headers(templates: Templates) -> None:
    assert api(templates)["IntrospectionConfig"] == "DISABLED"
    assert api(templates)["LogConfig"]["ExcludeVerboseContent"] is True
    assert api(templates)["LogConfig"]["FieldLogLevel"] == "ERROR"
    assert api(templates)["XrayEnabled"] is True
