"""AWS Signature Version 4 by botocore: signing a POST, and checking one as AWS does, by recomputing it."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSPreparedRequest, AWSRequest
from botocore.credentials import Credentials, ReadOnlyCredentials

ALGORITHM = "AWS4-HMAC-SHA256"
SKEW = 300  #: s, by which the signer's clock may differ
_AUTHORIZATION = re.compile(
    rf"{ALGORITHM} Credential=(?P<key>[^/]+)/(?P<scope>[^,]+), ?"
    r"SignedHeaders=(?P<headers>[a-z0-9;-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
_STAMP = "%Y%m%dT%H%M%SZ"


def sign_post(
    url: str, body: bytes, credentials: Credentials | ReadOnlyCredentials, *, region: str, service: str
) -> AWSPreparedRequest:
    """Return a signed POST of JSON, ready to send."""
    request = AWSRequest("POST", url, headers={"Content-Type": "application/json"}, data=body)
    SigV4Auth(credentials, service, region).add_auth(request)
    return request.prepare()


def find_refusal(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    credentials: ReadOnlyCredentials,
    *,
    region: str,
    service: str,
    now: datetime,
) -> str | None:
    """Return why the request's signature is not one of `credentials` over exactly these bytes; None when it is.

    `headers` by lower-case name. `url` as the client requested it, since host, path and query are signed.
    """
    given = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
    if given is None:
        return "The request carries no Signature Version 4."
    stamp = headers.get("x-amz-date", "")
    try:
        signed_at = datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return "The request carries no X-Amz-Date."
    if abs((now - signed_at).total_seconds()) > SKEW:
        return "The signature has expired."
    if given["key"] != credentials.access_key or headers.get("x-amz-security-token") != credentials.token:
        return "The security token included in the request is invalid."
    if given["scope"] != f"{stamp[:8]}/{region}/{service}/aws4_request":
        return "Credential should be scoped to this service and region."
    names = given["headers"].split(";")
    if not {"host", "x-amz-date"} <= set(names) or any(name not in headers for name in names):
        return "The signature must cover the host and the date."
    digest = hashlib.sha256(body).hexdigest()
    if headers.get("x-amz-content-sha256", digest) != digest:
        return "The X-Amz-Content-SHA256 does not match what was sent."
    request = AWSRequest(method, url, headers={name: headers[name] for name in names}, data=body)
    request.context["timestamp"] = stamp
    signer = SigV4Auth(credentials, service, region)
    expected = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    if not hmac.compare_digest(expected, given["signature"]):
        return "The request signature we calculated does not match the signature you provided."
    return None
