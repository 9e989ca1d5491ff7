"""Security headers of the page: the hosts that it may talk to, and that nobody may frame it."""

from __future__ import annotations

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudfront as cloudfront
from constructs import Construct

from adapters.settings.page_policy import make_page_policy

#: Features of the browser that the page has no use for.
_NO_FEATURES = ("camera", "microphone", "geolocation", "payment", "usb", "display-capture", "browsing-topics")


class SecurityHeaders(cloudfront.ResponseHeadersPolicy):
    """`connect`: origins, beside the page's own, that scripts may talk to; `images`: that images may come from."""

    def __init__(self, scope: Construct, id: str, *, connect: Sequence[str], images: Sequence[str]) -> None:
        super().__init__(
            scope,
            id,
            security_headers_behavior=cloudfront.ResponseSecurityHeadersBehavior(
                content_security_policy=cloudfront.ResponseHeadersContentSecurityPolicy(
                    content_security_policy=make_page_policy(connect=connect, images=images), override=True
                ),
                strict_transport_security=cloudfront.ResponseHeadersStrictTransportSecurity(
                    access_control_max_age=cdk.Duration.days(730), include_subdomains=True, override=True
                ),
                content_type_options=cloudfront.ResponseHeadersContentTypeOptions(override=True),
                frame_options=cloudfront.ResponseHeadersFrameOptions(
                    frame_option=cloudfront.HeadersFrameOption.DENY, override=True
                ),
                # Ids of slides and jobs are in the page's paths.
                referrer_policy=cloudfront.ResponseHeadersReferrerPolicy(
                    referrer_policy=cloudfront.HeadersReferrerPolicy.NO_REFERRER, override=True
                ),
            ),
            custom_headers_behavior=cloudfront.ResponseCustomHeadersBehavior(
                custom_headers=[
                    _header("Permissions-Policy", ", ".join(f"{name}=()" for name in _NO_FEATURES)),
                    _header("Cross-Origin-Opener-Policy", "same-origin"),
                ]
            ),
        )


def _header(name: str, value: str) -> cloudfront.ResponseCustomHeader:
    return cloudfront.ResponseCustomHeader(header=name, value=value, override=True)
