"""The REST API: one route behind the authorizer, routes for tiles and new jobs, two open routes, and its logs."""

from __future__ import annotations

import json
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from adapters.settings.gateway_routes import JOBS_PATH, PICTURE, TILE_PATHS
from adapters.settings.problems import BASE_PATH
from cdk.api.problem_responses import add_problem_responses
from cdk.auth.stack import ANSWER_SECONDS
from cdk.deployment import Deployment
from cdk.log_group import LogGroup
from cdk.network.stack import NetworkStack

STAGE = "live"
OPEN = ("health", "openapi.json")
#: Methods and headers that pages of other origins may send.
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "traceparent")

#: A log line for each request. Paths hold ids only; query strings are left out, since they can hold a searched name.
_LINE = json.dumps(
    {
        "request_id": "$context.requestId",
        "at": "$context.requestTimeEpoch",
        "ip": "$context.identity.sourceIp",
        "method": "$context.httpMethod",
        "path": "$context.path",
        "status": "$context.status",
        "ms": "$context.responseLatency",
        "function_ms": "$context.integration.latency",
        "bytes": "$context.responseLength",
        "tenant": "$context.authorizer.tenant",
        "subject": "$context.authorizer.subject",
        "authorizer_error": "$context.authorizer.error",
        "error": "$context.error.responseType",
        "waf": "$context.waf.status",
        "trace": "$context.xrayTraceId",
    }
)


class Gateway(Construct):
    """`rest_api`. It checks no body (no usage plans, no models): the function does, and says what is wrong."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        authorizer: lambda_.IFunction,
        function: lambda_.IFunction,
        tiles: lambda_.IFunction,
        submit: lambda_.IFunction,
    ) -> None:
        super().__init__(scope, id)
        access_log = LogGroup(self, "AccessLog", deployment=deployment, key=network.log_key)
        self.rest_api = apigateway.RestApi(
            self,
            "Rest",
            rest_api_name=f"{deployment.prefix}-api",
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            # The account has one role for the logs of all its gateways: it must outlive this one.
            cloud_watch_role=True,
            cloud_watch_role_removal_policy=cdk.RemovalPolicy.RETAIN,
            binary_media_types=[PICTURE],
            deploy_options=apigateway.StageOptions(
                stage_name=STAGE,
                tracing_enabled=True,
                metrics_enabled=True,
                logging_level=apigateway.MethodLoggingLevel.ERROR,
                data_trace_enabled=False,  # headers hold credentials
                # Of all callers together. The firewall limits each caller before.
                throttling_rate_limit=deployment.scale.request_rate,
                throttling_burst_limit=deployment.scale.request_burst,
                access_log_destination=apigateway.LogGroupLogDestination(access_log),
                access_log_format=apigateway.AccessLogFormat.custom(_LINE),
            ),
        )
        self._log_execution(deployment, network)
        add_problem_responses(self.rest_api, deployment.origins)
        integration, tiles_integration, submit_integration = (
            # One permission for the API, not one a method (20 KB of them at most).
            apigateway.LambdaIntegration(each, scope_permission_to_method=False)
            for each in (function, tiles, submit)
        )
        base = self.rest_api.root.resource_for_path(BASE_PATH)
        for name in OPEN:
            base.add_resource(name).add_method("GET", integration, authorization_type=apigateway.AuthorizationType.NONE)
        guarded = self._guard(authorizer)
        base.add_resource("{proxy+}").add_method("ANY", integration, **guarded)
        # Paths in between, such as /slides/1, have no method, and these have none for POST. The gateway then uses
        # {proxy+}, as MiniStack's authors measured on AWS.
        for path in TILE_PATHS:
            base.resource_for_path(path).add_method("GET", tiles_integration, **guarded)
        jobs = base.add_resource(JOBS_PATH)
        jobs.add_method("POST", submit_integration, **guarded)
        jobs.add_method("ANY", integration, **guarded)  # every other method
        self._let_pages_ask(deployment, base)

    def _guard(self, authorizer: lambda_.IFunction) -> dict[str, Any]:
        made = apigateway.RequestAuthorizer(
            self,
            "Authorizer",
            handler=authorizer,
            identity_sources=[apigateway.IdentitySource.header("Authorization")],
            results_cache_ttl=cdk.Duration.seconds(ANSWER_SECONDS),
            # The gateway assumes this role: a permission would be in the authorizer's stack, and refer back here.
            assume_role=iam.Role(self, "AskAuthorizer", assumed_by=iam.ServicePrincipal("apigateway.amazonaws.com")),
        )
        # The CDK takes region and partition out of the function's ARN, by an Fn::Split of another stack's value.
        resource = made.node.default_child
        assert isinstance(resource, apigateway.CfnAuthorizer)
        stack = cdk.Stack.of(self)
        invoked = f"lambda:path/2015-03-31/functions/{authorizer.function_arn}/invocations"
        resource.authorizer_uri = f"arn:{stack.partition}:apigateway:{stack.region}:{invoked}"
        return {"authorization_type": apigateway.AuthorizationType.CUSTOM, "authorizer": made}

    def _let_pages_ask(self, deployment: Deployment, base: apigateway.IResource) -> None:
        """Allow preflights for the deployment's origins. They carry no credential: a browser sends one only
        afterwards."""
        if deployment.origins:
            for path in (*OPEN, "{proxy+}", JOBS_PATH, *TILE_PATHS):
                base.resource_for_path(path).add_cors_preflight(
                    allow_origins=list(deployment.origins),
                    allow_methods=list(METHODS),
                    allow_headers=list(HEADERS),
                    max_age=cdk.Duration.hours(1),
                )

    def _log_execution(self, deployment: Deployment, network: NetworkStack) -> None:
        """Make the log group that the gateway would otherwise make itself, unencrypted and kept for ever."""
        group = LogGroup(
            self,
            "ExecutionLog",
            deployment=deployment,
            key=network.log_key,
            name=f"API-Gateway-Execution-Logs_{self.rest_api.rest_api_id}/{STAGE}",
        )
        self.rest_api.deployment_stage.node.add_dependency(group)
