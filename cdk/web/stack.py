"""The page and the API under one origin: CloudFront in front of a private bucket and of the gateway."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_cloudfront as cloudfront
from aws_cdk import aws_cloudfront_origins as origins
from aws_cdk import aws_s3 as s3
from constructs import Construct

from adapters.settings.problems import BASE_PATH
from cdk.api.stack import ApiStack
from cdk.auth.stack import AuthStack
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.log_group import LogGroup
from cdk.network.stack import NetworkStack
from cdk.realtime.stack import RealtimeStack
from cdk.web.page_files import PageFiles
from cdk.web.security_headers import SecurityHeaders

FUNCTIONS = Path(__file__).resolve().parent / "functions"
API_PATHS = "/api/*"
#: Continents whose edge locations the cheapest class has; elsewhere viewers would cross an ocean.
_NEAR_CHEAP_EDGES = ("us-", "ca-", "mx-", "eu-", "il-")


class WebStack(cdk.Stack):
    """`distribution`; `url`, the address of the page."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        data: DataStack,
        auth: AuthStack,
        realtime: RealtimeStack,
        api: ApiStack,
        env: cdk.Environment,
    ) -> None:
        super().__init__(scope, id, env=env)
        page = s3.Bucket(
            self,
            "Page",
            # All of it is public through CloudFront: a key of our own would protect nothing.
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            # Each deployment rewrites all of it, so there is nothing to retain.
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        buckets = [f"https://{bucket.bucket_regional_domain_name}" for bucket in (data.slides, data.results)]
        headers = SecurityHeaders(
            self,
            "SecurityHeaders",
            connect=[*buckets, auth.sign_in_url, realtime.realtime_origin],
            images=buckets[1:],
        )
        self.distribution = cloudfront.Distribution(
            self,
            "Distribution",
            comment=f"{deployment.prefix}: the page, and the API under {API_PATHS}",
            default_behavior=cloudfront.BehaviorOptions(
                # CloudFront may not list, so S3 answers 403 for a file that does not exist.
                origin=origins.S3BucketOrigin.with_origin_access_control(page),
                allowed_methods=cloudfront.AllowedMethods.ALLOW_GET_HEAD,
                viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.REDIRECT_TO_HTTPS,
                cache_policy=cloudfront.CachePolicy.CACHING_OPTIMIZED,
                response_headers_policy=headers,
                function_associations=[self._before("page")],
            ),
            additional_behaviors={
                API_PATHS: cloudfront.BehaviorOptions(
                    origin=self._gateway(api.api),
                    allowed_methods=cloudfront.AllowedMethods.ALLOW_ALL,
                    # A redirect would come after the credential has been sent in the clear.
                    viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.HTTPS_ONLY,
                    cache_policy=cloudfront.CachePolicy.CACHING_DISABLED,
                    # Authorization among them; the gateway knows itself by its own Host only.
                    origin_request_policy=cloudfront.OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
                    response_headers_policy=headers,
                    function_associations=[self._before("api")],
                )
            },
            default_root_object="index.html",
            http_version=cloudfront.HttpVersion.HTTP2_AND_3,
            price_class=cloudfront.PriceClass.PRICE_CLASS_100
            if deployment.region.startswith(_NEAR_CHEAP_EDGES)
            else cloudfront.PriceClass.PRICE_CLASS_ALL,
            **self._own_name(deployment),
        )
        self.url = f"https://{deployment.domain or self.distribution.distribution_domain_name}"
        PageFiles(
            self,
            "PageFiles",
            bucket=page,
            config={
                "apiUrl": BASE_PATH,
                "region": self.region,
                "userPoolId": auth.pool.user_pool_id,
                "clientId": auth.client.user_pool_client_id,
                "signInUrl": auth.sign_in_url,
                "realtimeUrl": realtime.realtime_url,
            },
            log_group=LogGroup(self, "PageFilesLogs", deployment=deployment, key=network.log_key),
        )
        cdk.CfnOutput(self, "Url", value=self.url)
        cdk.CfnOutput(self, "DistributionDomain", value=self.distribution.distribution_domain_name)
        cdk.CfnOutput(self, "PageBucket", value=page.bucket_name)

    def _before(self, name: str) -> cloudfront.FunctionAssociation:
        """Have `functions/<name>.js` run on the requests of viewers."""
        return cloudfront.FunctionAssociation(
            event_type=cloudfront.FunctionEventType.VIEWER_REQUEST,
            function=cloudfront.Function(
                self,
                f"Before{name.capitalize()}",
                code=cloudfront.FunctionCode.from_file(file_path=str(FUNCTIONS / f"{name}.js")),
                runtime=cloudfront.FunctionRuntime.JS_2_0,
            ),
        )

    def _gateway(self, api: apigateway.RestApi) -> origins.HttpOrigin:
        return origins.HttpOrigin(
            f"{api.rest_api_id}.execute-api.{self.region}.{self.url_suffix}",
            origin_path=f"/{api.deployment_stage.stage_name}",
            protocol_policy=cloudfront.OriginProtocolPolicy.HTTPS_ONLY,
            origin_ssl_protocols=[cloudfront.OriginSslPolicy.TLS_V1_2],
            read_timeout=cdk.Duration.seconds(30),  # the gateway gives up after 29 s
        )

    def _own_name(self, deployment: Deployment) -> dict[str, object]:
        """Return the domain's settings. Without one CloudFront uses its own certificate, whose oldest TLS cannot be
        chosen."""
        if deployment.domain is None or deployment.certificate_arn is None:
            return {}
        return {
            "domain_names": [deployment.domain],
            "certificate": acm.Certificate.from_certificate_arn(self, "Certificate", deployment.certificate_arn),
            "minimum_protocol_version": cloudfront.SecurityPolicyProtocol.TLS_V1_2_2021,
        }
