"""The firewall in front of the REST API and of AppSync: AWS's rules, and rate limits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_wafv2 as waf
from constructs import Construct

from adapters.settings.problems import BASE_PATH, PROBLEMS
from cdk.deployment import Deployment
from cdk.log_group import LogGroup
from cdk.network.stack import NetworkStack
from cdk.viewer import VIEWER_IP

WINDOW_SECONDS = 60
#: Requests a minute. A clinic behind one address has many viewers, each of which asks for tiles by the dozen.
OF_ONE_ADDRESS = 60_000

#: AWS's groups, and the rules of each that only count. Bodies above 8 KB are no attack here: a list of files to upload,
#: parts to sign (F-35); the gateway itself refuses 10 MB. Nor are query strings above 2 KB: a subscriber's token, more
#: than 1 KB before base64, travels in one.
MANAGED: Mapping[str, Sequence[str]] = {
    "AWSManagedRulesAmazonIpReputationList": (),
    "AWSManagedRulesKnownBadInputsRuleSet": (),
    "AWSManagedRulesCommonRuleSet": ("SizeRestrictions_BODY", "SizeRestrictions_QUERYSTRING"),
}
#: What computes when it is sent to: a job is planned, a slide inspected (also after a new statement, by PATCH), files
#: are opened and signed, a model (by PUT) is tried.
BEGIN_WORK = ("jobs", "uploads", "slides", "models")
BEGINNING_METHODS = ("POST", "PUT", "PATCH")
_TOO_MANY = "too-many"

Statement = waf.CfnWebACL.StatementProperty
Rule = waf.CfnWebACL.RuleProperty


class Firewall(Construct):
    """The firewall. `protects`: the ARNs of the resources behind it, by name."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        protects: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id)
        scale, refusal = deployment.scale, _too_many(deployment.origins)
        begins: dict[str, Any] = {**_by_header("authorization"), "scope_down_statement": _begins_work()}
        rules = [
            _rate("address", OF_ONE_ADDRESS, refusal, aggregate_key_type="IP"),
            _rate("viewer", OF_ONE_ADDRESS, refusal, **_by_header(VIEWER_IP)),
            _rate("credential", scale.credential_limit, refusal, **_by_header("authorization")),
            _rate("credential-begins-work", scale.beginning_limit, refusal, **begins),
            *(_make_managed_rule(name, counted) for name, counted in MANAGED.items()),
        ]
        for priority, rule in enumerate(rules):
            rule["priority"] = priority
        self._acl = waf.CfnWebACL(
            self,
            "Acl",
            scope="REGIONAL",
            default_action=waf.CfnWebACL.DefaultActionProperty(allow={}),
            visibility_config=_visible(f"{deployment.prefix}-api"),
            custom_response_bodies={
                _TOO_MANY: waf.CfnWebACL.CustomResponseBodyProperty(
                    content_type="APPLICATION_JSON", content=json.dumps(_problem())
                )
            },
            rules=[Rule(**rule) for rule in rules],
        )
        for name, arn in protects.items():
            waf.CfnWebACLAssociation(self, name, resource_arn=arn, web_acl_arn=self._acl.attr_arn)
        self._log(deployment, network)

    def _log(self, deployment: Deployment, network: NetworkStack) -> None:
        group = LogGroup(
            self,
            "Log",
            deployment=deployment,
            key=network.log_key,
            name=f"aws-waf-logs-{deployment.prefix}-api",  # the firewall writes to groups so named only
        )
        arn = cdk.Stack.of(self).format_arn(
            service="logs",
            resource="log-group",
            resource_name=group.log_group_name,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
        field = waf.CfnLoggingConfiguration.FieldToMatchProperty
        waf.CfnLoggingConfiguration(
            self,
            "Logging",
            resource_arn=self._acl.attr_arn,
            log_destination_configs=[arn],
            redacted_fields=[field(single_header={"Name": "authorization"}), field(query_string={})],
        )


def _too_many(origins: Sequence[str]) -> waf.CfnWebACL.RuleActionProperty:
    """Return the answer 429. Pages of the first of `origins` can read it, as they can the gateway's own answers."""
    headers = {"Retry-After": str(WINDOW_SECONDS)}
    if origins:
        headers |= {"Access-Control-Allow-Origin": origins[0], "Vary": "Origin"}
    named = [waf.CfnWebACL.CustomHTTPHeaderProperty(name=name, value=value) for name, value in headers.items()]
    answer = waf.CfnWebACL.CustomResponseProperty(
        response_code=429, custom_response_body_key=_TOO_MANY, response_headers=named
    )
    return waf.CfnWebACL.RuleActionProperty(block=waf.CfnWebACL.BlockActionProperty(custom_response=answer))


def _rate(name: str, limit: int, refusal: waf.CfnWebACL.RuleActionProperty, **statement: Any) -> dict[str, Any]:
    counted = waf.CfnWebACL.RateBasedStatementProperty(limit=limit, evaluation_window_sec=WINDOW_SECONDS, **statement)
    return {
        "name": f"rate-of-one-{name}",
        "action": refusal,
        "visibility_config": _visible(f"rate-{name}"),
        "statement": Statement(rate_based_statement=counted),
    }


def _by_header(name: str) -> dict[str, Any]:
    """Return settings that count requests by a header, in any case. Requests without the header are not counted.

    The authorizer accepts one spelling of a credential, but for the case of its scheme
    (lambdas/http/credentials.py): so a header in lower case is a credential. Two that differ in case alone do not
    occur."""
    header = waf.CfnWebACL.RateLimitHeaderProperty(
        name=name, text_transformations=[waf.CfnWebACL.TextTransformationProperty(priority=0, type="LOWERCASE")]
    )
    key = waf.CfnWebACL.RateBasedStatementCustomKeyProperty(header=header)
    return {"aggregate_key_type": "CUSTOM_KEYS", "custom_keys": [key]}


def _begins_work() -> waf.CfnWebACL.StatementProperty:
    begun = _any_of(_matches({"uri_path": {}}, f"{BASE_PATH}/{noun}", "CONTAINS") for noun in BEGIN_WORK)
    sent = _any_of(_matches({"method": {}}, method, "EXACTLY") for method in BEGINNING_METHODS)
    return Statement(and_statement=waf.CfnWebACL.AndStatementProperty(statements=[sent, begun]))


def _any_of(statements: Iterable[waf.CfnWebACL.StatementProperty]) -> waf.CfnWebACL.StatementProperty:
    return Statement(or_statement=waf.CfnWebACL.OrStatementProperty(statements=list(statements)))


def _matches(field: Mapping[str, Any], text: str, how: str) -> waf.CfnWebACL.StatementProperty:
    """Return a condition on a field, which is URL-decoded first, as the gateway does: `/%6Aobs` is `/jobs`."""
    return Statement(
        byte_match_statement=waf.CfnWebACL.ByteMatchStatementProperty(
            field_to_match=waf.CfnWebACL.FieldToMatchProperty(**field),
            search_string=text,
            positional_constraint=how,
            text_transformations=[waf.CfnWebACL.TextTransformationProperty(priority=0, type="URL_DECODE")],
        )
    )


def _make_managed_rule(name: str, counted: Sequence[str]) -> dict[str, Any]:
    counts = waf.CfnWebACL.RuleActionProperty(count={})
    overrides = [waf.CfnWebACL.RuleActionOverrideProperty(name=rule, action_to_use=counts) for rule in counted]
    group = waf.CfnWebACL.ManagedRuleGroupStatementProperty(
        vendor_name="AWS", name=name, rule_action_overrides=overrides or None
    )
    return {
        "name": name,
        "override_action": waf.CfnWebACL.OverrideActionProperty(none={}),
        "visibility_config": _visible(name),
        "statement": Statement(managed_rule_group_statement=group),
    }


def _visible(name: str) -> waf.CfnWebACL.VisibilityConfigProperty:
    return waf.CfnWebACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, sampled_requests_enabled=False, metric_name=name
    )


def _problem() -> dict[str, Any]:
    return {
        "type": f"{PROBLEMS}too_many_requests",
        "title": "Too Many Requests",
        "status": 429,
        "detail": "Too many requests within a minute; try again in a minute.",
    }
