"""Push: who subscribes, who publishes, what is logged."""

from __future__ import annotations

from typing import Any

from tests.cdk.templates import Templates


def api(templates: Templates) -> dict[str, Any]:
    return templates.resource("AWS::AppSync::GraphQLApi", "realtime")["Properties"]


def test_subscribers_pass_our_authorizer_and_publishers_sign_with_IAM_F33(templates: Templates) -> None:
    assert api(templates)["AuthenticationType"] == "AWS_LAMBDA"
    assert api(templates)["LambdaAuthorizerConfig"]["AuthorizerResultTtlInSeconds"] <= 60
    assert [mode["AuthenticationType"] for mode in api(templates)["AdditionalAuthenticationProviders"]] == ["AWS_IAM"]


def test_no_key_opens_push(templates: Templates) -> None:
    assert not templates.resources("AWS::AppSync::ApiKey")


def test_appsync_may_ask_the_authorizer_for_this_api_alone(templates: Templates) -> None:
    permission = templates.resource("AWS::Lambda::Permission", "realtime")["Properties"]
    assert permission["Principal"] == "appsync.amazonaws.com"
    assert permission["SourceArn"]["Fn::GetAtt"][1] == "Arn"


def test_mutation_and_subscription_run_our_resolvers(templates: Templates) -> None:
    found = templates.resources("AWS::AppSync::Resolver", "realtime").values()
    fields = {(one["Properties"]["TypeName"], one["Properties"]["FieldName"]) for one in found}
    assert fields == {("Mutation", "publishJobUpdate"), ("Subscription", "onJobUpdate")}
    assert all(one["Properties"]["Runtime"] == {"Name": "APPSYNC_JS", "RuntimeVersion": "1.0.0"} for one in found)


def test_push_tells_nobody_its_schema_and_logs_no_headers(templates: Templates) -> None:
    assert api(templates)["IntrospectionConfig"] == "DISABLED"
    assert api(templates)["LogConfig"]["ExcludeVerboseContent"] is True
    assert api(templates)["LogConfig"]["FieldLogLevel"] == "ERROR"
    assert api(templates)["XrayEnabled"] is True
