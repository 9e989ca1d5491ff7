"""The REST API and its firewall."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from adapters.settings.gateway_routes import TILE_PATHS
from adapters.settings.problems import BASE_PATH, MEDIA_TYPE
from tests.cdk.templates import Templates, synthesized


def methods(templates: Templates) -> dict[str, dict[str, Any]]:
    """Methods by the end of their construct's path: "health/GET"."""
    base = f"api/Gateway/Rest/Default{BASE_PATH}/"
    return {
        path.removeprefix(base).removesuffix("/Resource"): resource["Properties"]
        for path, resource in templates.by_path().items()
        if resource["Type"] == "AWS::ApiGateway::Method"
    }


def stage(templates: Templates) -> dict[str, Any]:
    return templates.resource("AWS::ApiGateway::Stage", "api")["Properties"]


def test_all_routes_but_two_go_through_the_authorizer(templates: Templates) -> None:
    found = {path: method["AuthorizationType"] for path, method in methods(templates).items()}
    assert {path: kind for path, kind in found.items() if not path.endswith("/OPTIONS")} == {
        "health/GET": "NONE",
        "openapi.json/GET": "NONE",
        "{proxy+}/ANY": "CUSTOM",
        "jobs/POST": "CUSTOM",
        "jobs/ANY": "CUSTOM",
        **{f"{path}/GET": "CUSTOM" for path in TILE_PATHS},
    }


def test_tiles_and_new_jobs_have_functions_of_their_own_and_the_rest_is_the_apis(
    templates: Templates,
) -> None:
    asked = {path: json.dumps(method["Integration"].get("Uri", "")) for path, method in methods(templates).items()}
    of_tiles = {path for path, uri in asked.items() if "FunctionsReleasestiles" in uri}
    assert of_tiles == {f"{path}/GET" for path in TILE_PATHS}
    assert [path for path, uri in asked.items() if "FunctionsReleasessubmit" in uri] == ["jobs/POST"]
    others = {path for path in asked if not path.endswith("/OPTIONS")} - of_tiles - {"jobs/POST"}
    assert all("FunctionsReleasesapi" in asked[path] for path in others)


def test_preflights_are_answered_to_pages_of_the_deployments_origins_and_reach_no_function(prod: Templates) -> None:
    preflights = {path: method for path, method in methods(prod).items() if path.endswith("/OPTIONS")}
    paths = ("health", "openapi.json", "{proxy+}", "jobs", *TILE_PATHS)
    assert set(preflights) == {f"{path}/OPTIONS" for path in paths}
    for path, method in preflights.items():
        assert (method["AuthorizationType"], method["Integration"]["Type"]) == ("NONE", "MOCK"), path
        (answer,) = method["Integration"]["IntegrationResponses"]
        sent = {name.rpartition(".")[2]: value for name, value in answer["ResponseParameters"].items()}
        assert sent["Access-Control-Allow-Origin"] == "'https://wsi.example.org'"
        assert {"Authorization", "Idempotency-Key"} <= set(sent["Access-Control-Allow-Headers"].strip("'").split(","))


def test_of_several_origins_each_is_compared_whole() -> None:
    templates = synthesized(environment="dev", page_origins=["https://a.example.org", "http://localhost:5173"])
    (answer,) = methods(templates)["{proxy+}/OPTIONS"]["Integration"]["IntegrationResponses"]
    assert answer["ResponseParameters"]["method.response.header.Access-Control-Allow-Origin"] == (
        "'https://a.example.org'"
    )
    assert '#if($origin == "http://localhost:5173")' in answer["ResponseTemplates"]["application/json"]
    (told,) = (
        resource["Properties"]["Environment"]["Variables"]["TESSERA_PAGE_ORIGINS"]
        for path, resource in templates.by_path().items()
        if path == "api/Functions/api/Resource"
    )
    assert told == "https://a.example.org,http://localhost:5173"


def test_what_gateway_and_firewall_refuse_the_page_can_read(prod: Templates) -> None:
    for answer in prod.resources("AWS::ApiGateway::GatewayResponse", "api").values():
        sent = answer["Properties"]["ResponseParameters"]
        assert sent["gatewayresponse.header.Access-Control-Allow-Origin"] == "'https://wsi.example.org'"
    for name, rule in rules(prod).items():
        if name.startswith("rate-"):
            sent = rule["Action"]["Block"]["CustomResponse"]["ResponseHeaders"]
            assert {"Name": "Access-Control-Allow-Origin", "Value": "https://wsi.example.org"} in sent


def test_without_an_origin_no_page_from_elsewhere_reads_anything(dev: Templates) -> None:
    assert dev.deployment.origins == ()
    assert "OPTIONS" not in {method["HttpMethod"] for method in methods(dev).values()}
    assert "Access-Control" not in json.dumps(dev.by_noun["api"])


def test_an_answer_of_the_authorizer_is_kept_for_a_minute_at_most_F37(templates: Templates) -> None:
    authorizer = templates.resource("AWS::ApiGateway::Authorizer", "api")["Properties"]
    assert authorizer["AuthorizerResultTtlInSeconds"] <= 60
    assert authorizer["IdentitySource"] == "method.request.header.Authorization"


def test_images_travel_as_bytes(templates: Templates) -> None:
    api = templates.resource("AWS::ApiGateway::RestApi", "api")["Properties"]
    assert api["BinaryMediaTypes"] == ["image/jpeg"]
    assert api["EndpointConfiguration"]["Types"] == ["REGIONAL"]


def test_what_the_gateway_refuses_itself_is_a_problem_with_a_sentence(templates: Templates) -> None:
    answers = templates.resources("AWS::ApiGateway::GatewayResponse", "api").values()
    by_type = {answer["Properties"]["ResponseType"]: answer["Properties"] for answer in answers}
    expected = {"UNAUTHORIZED": 401, "ACCESS_DENIED": 403, "MISSING_AUTHENTICATION_TOKEN": 404, "THROTTLED": 429}
    assert {"DEFAULT_4XX", "DEFAULT_5XX", "REQUEST_TOO_LARGE", "WAF_FILTERED", *expected} <= set(by_type)
    for kind, answer in by_type.items():
        body = json.loads(answer["ResponseTemplates"]["application/json"])
        assert body["type"].startswith("/problems/"), kind
        assert body["detail"].endswith("."), kind
        assert answer["ResponseParameters"]["gatewayresponse.header.Content-Type"] == f"'{MEDIA_TYPE}'"
        if kind in expected:
            assert (answer["StatusCode"], body["status"]) == (str(expected[kind]), expected[kind])
    assert "gatewayresponse.header.Retry-After" in by_type["THROTTLED"]["ResponseParameters"]


def test_a_problem_of_the_gateway_never_tells_another_status_than_its_own(templates: Templates) -> None:
    for answer in templates.resources("AWS::ApiGateway::GatewayResponse", "api").values():
        body = json.loads(answer["Properties"]["ResponseTemplates"]["application/json"])
        assert str(body.get("status")) == str(answer["Properties"].get("StatusCode"))


def test_access_is_logged_without_query_strings_and_credentials(templates: Templates) -> None:
    line = stage(templates)["AccessLogSetting"]["Format"]
    assert {"$context.requestId", "$context.status", "$context.authorizer.tenant"} <= set(json.loads(line).values())
    assert "query" not in line.lower()
    assert "header" not in line.lower()


def test_the_stage_is_traced_throttled_and_logs_no_data(templates: Templates) -> None:
    assert stage(templates)["TracingEnabled"] is True
    (settings,) = stage(templates)["MethodSettings"]
    assert settings["DataTraceEnabled"] is False
    assert settings["ThrottlingRateLimit"] > 0


def test_there_are_no_usage_plans_and_the_gateway_checks_no_body(templates: Templates) -> None:
    for kind in ("UsagePlan", "ApiKey", "RequestValidator", "Model"):
        assert not templates.resources(f"AWS::ApiGateway::{kind}"), kind


def test_the_api_is_let_in_to_each_of_its_functions_by_one_permission(templates: Templates) -> None:
    permissions = templates.resources("AWS::Lambda::Permission", "api").values()
    principals = [permission["Properties"]["Principal"] for permission in permissions]
    assert principals.count("apigateway.amazonaws.com") == 3


# --- the firewall


def rules(templates: Templates) -> dict[str, dict[str, Any]]:
    return {rule["Name"]: rule for rule in templates.resource("AWS::WAFv2::WebACL", "api")["Properties"]["Rules"]}


def rate(templates: Templates, name: str) -> dict[str, Any]:
    return rules(templates)[name]["Statement"]["RateBasedStatement"]


def test_the_firewall_stands_before_the_api_and_before_push(templates: Templates) -> None:
    associations = templates.resources("AWS::WAFv2::WebACLAssociation", "api").values()
    [of_push, of_stage] = sorted((each["Properties"]["ResourceArn"] for each in associations), key=list)
    *_, rest_api, _, live = of_stage["Fn::Join"][1]
    assert "/restapis/" in str(of_stage)
    assert "/stages/" in str(of_stage)
    assert rest_api["Ref"] in templates.resources("AWS::ApiGateway::RestApi", "api")
    assert live["Ref"] in templates.resources("AWS::ApiGateway::Stage", "api")
    output = templates.by_noun["realtime"]["Outputs"][of_push["Fn::GetStackOutput"]["OutputName"]]
    [push] = templates.resources("AWS::AppSync::GraphQLApi", "realtime")
    assert output["Value"] == {"Fn::GetAtt": [push, "Arn"]}


def test_large_bodies_are_counted_and_not_blocked_F35(templates: Templates) -> None:
    group = rules(templates)["AWSManagedRulesCommonRuleSet"]["Statement"]["ManagedRuleGroupStatement"]
    counted = {rule["Name"] for rule in group["RuleActionOverrides"] if rule["ActionToUse"] == {"Count": {}}}
    assert counted == {"SizeRestrictions_BODY", "SizeRestrictions_QUERYSTRING"}


def test_aws_own_rules_block(templates: Templates) -> None:
    managed = [rule for name, rule in rules(templates).items() if name.startswith("AWSManaged")]
    assert len(managed) == 3
    assert all(rule["OverrideAction"] == {"None": {}} for rule in managed)


def test_one_address_may_ask_60000_times_a_minute(templates: Templates) -> None:
    counted = rate(templates, "rate-of-one-address")
    assert (counted["Limit"], counted["EvaluationWindowSec"], counted["AggregateKeyType"]) == (60_000, 60, "IP")


def test_a_credential_may_ask_less_and_begin_work_still_less_F36(templates: Templates) -> None:
    asks, begins = (rate(templates, f"rate-of-one-{name}") for name in ("credential", "credential-begins-work"))
    for counted in (asks, begins):
        assert counted["CustomKeys"][0]["Header"]["Name"] == "authorization"
        assert counted["EvaluationWindowSec"] == 60
    assert begins["Limit"] < asks["Limit"] == templates.deployment.scale.credential_limit


#: Requests, and whether each of them begins work: an inspection, a plan, signatures, a trial.
WORK = {
    "POST /v1/api/v1/wsi/jobs": True,
    "POST /v1/api/v1/wsi/%6Aobs": True,
    "POST /v1/api/v1/wsi/uploads/1/parts": True,
    "POST /v1/api/v1/wsi/slides": True,
    "POST /v1/api/v1/wsi/slides/1/restore": True,
    "PATCH /v1/api/v1/wsi/slides/1": True,
    "PUT /v1/api/v1/wsi/models/m/versions/1": True,
    "GET /v1/api/v1/wsi/slides": False,
    "GET /v1/api/v1/wsi/jobs/1": False,
    "POST /v1/api/v1/wsi/webhooks/secret/rotate": False,
}


def test_whatever_computes_when_it_is_sent_begins_work(templates: Templates) -> None:
    condition = rate(templates, "rate-of-one-credential-begins-work")["ScopeDownStatement"]
    assert {request: matches(condition, request) for request in WORK} == WORK


#: Spellings of one credential that the authorizer accepts (tests/lambdas/test_authorizer.py: it accepts no others).
SPELLINGS = ("Bearer tsk_a1_s3cr-et", "bearer tsk_a1_s3cr-et", "bEaReR tsk_a1_s3cr-et", "BEARER tsk_a1_s3cr-et")


def test_a_credential_is_counted_once_however_it_is_written(templates: Templates) -> None:
    for name in ("credential", "credential-begins-work"):
        [key] = rate(templates, f"rate-of-one-{name}")["CustomKeys"]
        kinds = [one["Type"] for one in sorted(key["Header"]["TextTransformations"], key=lambda one: one["Priority"])]
        counters = {transform(spelling, kinds) for spelling in SPELLINGS}
        assert len(counters) == 1, name
        assert transform("Bearer tsk_a1_other", kinds) not in counters


def matches(statement: dict[str, Any], request: str) -> bool:
    """What the firewall decides about "METHOD /path": the statements that our rules have, as AWS documents them."""
    method, path = request.split(" ")
    [(kind, said)] = statement.items()
    if kind in ("AndStatement", "OrStatement"):
        return (all if kind == "AndStatement" else any)(matches(one, request) for one in said["Statements"])
    assert kind == "ByteMatchStatement"
    text = method if "Method" in said["FieldToMatch"] else path
    text = transform(text, [one["Type"] for one in said["TextTransformations"]])
    return said["SearchString"] in text if said["PositionalConstraint"] == "CONTAINS" else said["SearchString"] == text


def transform(text: str, kinds: Sequence[str]) -> str:
    for kind in kinds:
        text = {"NONE": str, "LOWERCASE": str.lower, "URL_DECODE": unquote}[kind](text)
    return text


def test_who_asks_too_often_is_told_so_with_429(templates: Templates) -> None:
    for name, rule in rules(templates).items():
        if name.startswith("rate-"):
            answer = rule["Action"]["Block"]["CustomResponse"]
            assert answer["ResponseCode"] == 429
            assert {"Name": "Retry-After", "Value": "60"} in answer["ResponseHeaders"]


def test_the_firewalls_log_holds_no_credential(templates: Templates) -> None:
    logging = templates.resource("AWS::WAFv2::LoggingConfiguration", "api")["Properties"]
    assert {"SingleHeader": {"Name": "authorization"}} in logging["RedactedFields"]
