"""The page and the API under one origin."""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import Any

import pytest

from adapters.aws_clients import AwsClients
from cdk.viewer import VIEWER_IP
from cdk.web.stack import FUNCTIONS
from tests.cdk.templates import Templates

CACHING_DISABLED = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
ALL_VIEWER_EXCEPT_HOST = "b689b0a8-53d0-40ab-baf2-68738e2966ac"


def distribution(templates: Templates) -> dict[str, Any]:
    return templates.resource("AWS::CloudFront::Distribution")["Properties"]["DistributionConfig"]


def origin_of(templates: Templates, behaviour: dict[str, Any]) -> dict[str, Any]:
    (found,) = [o for o in distribution(templates)["Origins"] if o["Id"] == behaviour["TargetOriginId"]]
    return found


def behaviour_of_the_api(templates: Templates) -> dict[str, Any]:
    (found,) = distribution(templates)["CacheBehaviors"]
    return found


def policy(templates: Templates) -> dict[str, list[str]]:
    """Directives of the content security policy; what is known only when deployed stands as its output's name."""
    config = templates.resource("AWS::CloudFront::ResponseHeadersPolicy")["Properties"]["ResponseHeadersPolicyConfig"]
    text = flat(config["SecurityHeadersConfig"]["ContentSecurityPolicy"]["ContentSecurityPolicy"])
    directives = (part.split() for part in text.split(";"))
    return {name: sources for name, *sources in directives}


def flat(value: Any) -> str:
    if isinstance(value, str):
        return value
    if "Fn::Join" in value:
        return value["Fn::Join"][0].join(flat(part) for part in value["Fn::Join"][1])
    if "Fn::Select" in value:
        return f"host-of-{flat(value['Fn::Select'][1]['Fn::Split'][1])}"
    return value["Ref"] if "Ref" in value else value["Fn::GetStackOutput"]["OutputName"]


def answered(function: str, *, uri: str = "/", headers: dict[str, Any] | None = None) -> dict[str, Any]:
    """The request that one of our CloudFront functions makes of a request, in Node."""
    event = {"viewer": {"ip": "198.51.100.7"}, "request": {"method": "GET", "uri": uri, "headers": headers or {}}}
    source = (FUNCTIONS / f"{function}.js").read_text()
    script = f"{source}\nconsole.log(JSON.stringify(handler({json.dumps(event)})))"
    ran = subprocess.run([os.environ["JSII_NODE"], "-e", script], capture_output=True, check=True, timeout=30)
    return json.loads(ran.stdout)


# --- one origin


def test_nobody_but_the_distribution_reads_the_pages_bucket(templates: Templates) -> None:
    bucket = templates.resource("AWS::S3::Bucket", "web")["Properties"]
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    allowed = [
        statement
        for statement in templates.resource("AWS::S3::BucketPolicy", "web")["Properties"]["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    (statement,) = allowed
    assert statement["Principal"] == {"Service": "cloudfront.amazonaws.com"}
    assert statement["Action"] == "s3:GetObject"
    (id,) = templates.resources("AWS::CloudFront::Distribution")
    assert {"Ref": id} in statement["Condition"]["StringEquals"]["AWS:SourceArn"]["Fn::Join"][1]


def test_the_page_is_read_with_signed_requests(templates: Templates) -> None:
    origin = origin_of(templates, distribution(templates)["DefaultCacheBehavior"])
    assert "OriginAccessControlId" in origin
    assert "CustomOriginConfig" not in origin


def test_the_api_is_reached_over_tls_at_its_stage(templates: Templates) -> None:
    behaviour = behaviour_of_the_api(templates)
    assert behaviour["PathPattern"] == "/api/*"
    assert behaviour["ViewerProtocolPolicy"] == "https-only"
    origin = origin_of(templates, behaviour)
    assert origin["CustomOriginConfig"]["OriginProtocolPolicy"] == "https-only"
    assert origin["CustomOriginConfig"]["OriginSSLProtocols"] == ["TLSv1.2"]
    assert "Stage" in json.dumps(origin["OriginPath"])


def test_answers_of_the_api_are_not_cached_and_credentials_reach_it(templates: Templates) -> None:
    behaviour = behaviour_of_the_api(templates)
    assert behaviour["CachePolicyId"] == CACHING_DISABLED
    assert behaviour["OriginRequestPolicyId"] == ALL_VIEWER_EXCEPT_HOST
    assert {"POST", "PUT", "DELETE"} <= set(behaviour["AllowedMethods"])


def test_an_error_of_the_api_is_never_turned_into_the_page(templates: Templates) -> None:
    assert "CustomErrorResponses" not in distribution(templates)


def test_http_2_and_3_compressed(templates: Templates) -> None:
    assert distribution(templates)["HttpVersion"] == "http2and3"
    behaviours = [distribution(templates)["DefaultCacheBehavior"], behaviour_of_the_api(templates)]
    assert [behaviour["Compress"] for behaviour in behaviours] == [True, True]


def test_an_own_name_takes_tls_1_2_and_newer(prod: Templates) -> None:
    certificate = distribution(prod)["ViewerCertificate"]
    assert certificate["MinimumProtocolVersion"] == "TLSv1.2_2021"
    assert distribution(prod)["Aliases"] == ["wsi.example.org"]


# --- the functions in front


@pytest.mark.parametrize("path", ["/", "/jobs", "/jobs/", "/jobs/6f1c0a9e", "/slides/6f1c0a9e/view", "/apiary"])
def test_a_path_without_an_extension_is_the_pages_own(path: str) -> None:
    assert answered("page", uri=path)["uri"] == "/index.html"


@pytest.mark.parametrize("path", ["/page.css", "/assets/app-8f2c.js", "/config.json", "/api", "/api/v1/wsi/jobs"])
def test_a_file_stays_a_file_and_the_api_the_api(path: str) -> None:
    assert answered("page", uri=path)["uri"] == path


def test_a_viewer_can_not_write_its_own_address() -> None:
    forged = {VIEWER_IP: {"value": "203.0.113.1"}, "authorization": {"value": "tsk_x"}}
    headers = answered("api", uri="/api/v1/wsi/jobs", headers=forged)["headers"]
    assert headers == {VIEWER_IP: {"value": "198.51.100.7"}, "authorization": {"value": "tsk_x"}}


def test_the_functions_stand_before_their_behaviours(templates: Templates) -> None:
    functions = templates.resources("AWS::CloudFront::Function")
    for behaviour, name in (
        (distribution(templates)["DefaultCacheBehavior"], "page"),
        (behaviour_of_the_api(templates), "api"),
    ):
        (association,) = behaviour["FunctionAssociations"]
        assert association["EventType"] == "viewer-request"
        code = functions[association["FunctionARN"]["Fn::GetAtt"][0]]["Properties"]["FunctionCode"]
        assert code == (FUNCTIONS / f"{name}.js").read_text()


# --- what browsers are told


def test_the_page_may_run_only_its_own_scripts_and_styles(templates: Templates) -> None:
    directives = policy(templates)
    assert directives["default-src"] == ["'none'"]
    assert directives["script-src"] == directives["style-src"] == ["'self'"]
    assert directives["frame-ancestors"] == directives["base-uri"] == ["'none'"]
    everything = " ".join(source for sources in directives.values() for source in sources)
    assert not re.search(r"unsafe|\*|http:|https:(?!//)", everything)


def test_the_page_may_talk_to_our_buckets_sign_in_and_push_and_to_nobody_else(templates: Templates) -> None:
    own, slides, results, sign_in, push = policy(templates)["connect-src"]
    assert own == "'self'"
    assert re.fullmatch(r"https://\w*Slides\w*RegionalDomainName\w*", slides)
    assert re.fullmatch(r"https://\w*Results\w*RegionalDomainName\w*", results)
    assert sign_in == f"https://{templates.deployment.prefix}-AWS::AccountId.auth.eu-central-1.amazoncognito.com"
    assert re.fullmatch(r"wss://\S*RealtimeDns\S*", push)


@pytest.mark.parametrize("region", ["eu-central-1", "us-east-1"])
def test_presigned_urls_go_to_the_hosts_that_the_policy_names(region: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    url = AwsClients(region).s3.generate_presigned_url("get_object", Params={"Bucket": "slides-1", "Key": "k"})
    assert url.startswith(f"https://slides-1.s3.{region}.amazonaws.com/k?")  # S3's RegionalDomainName


def test_browsers_keep_to_https_and_tell_nobody_where_they_come_from(templates: Templates) -> None:
    found = templates.resource("AWS::CloudFront::ResponseHeadersPolicy")["Properties"]["ResponseHeadersPolicyConfig"]
    security = found["SecurityHeadersConfig"]
    assert security["StrictTransportSecurity"]["AccessControlMaxAgeSec"] >= 365 * 24 * 3600
    assert security["ContentTypeOptions"] == {"Override": True}
    assert security["FrameOptions"]["FrameOption"] == "DENY"
    assert security["ReferrerPolicy"]["ReferrerPolicy"] == "no-referrer"
    custom = {header["Header"]: header["Value"] for header in found["CustomHeadersConfig"]["Items"]}
    assert "camera=()" in custom["Permissions-Policy"]
    behaviours = [distribution(templates)["DefaultCacheBehavior"], behaviour_of_the_api(templates)]
    assert all("ResponseHeadersPolicyId" in behaviour for behaviour in behaviours)
