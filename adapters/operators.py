"""The proof of who invokes a function that IAM alone guards. Lambda does not name the caller, so the caller sends a
signed request to STS, which answers it with the caller's ARN (as Kubernetes on EKS and Vault learn who calls).

A proof is for one function, one action and one minute. STS checks the signature; we check what was signed, and that the
request goes nowhere but to STS.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from adapters.aws_clients import AwsClients
from wsi.errors import Forbidden, SourceUnavailable

PROOF: Final = "proof"  #: name of the proof in the event of an invocation
HEADER: Final = "x-tessera-action"  #: signed with the request: what the proof is for
PROOF_SECONDS: Final = 60
_SKEW_SECONDS: Final = 300.0  #: between the caller's clock and ours
_STS_SECONDS: Final = 10.0
_QUERY: Final = {"Action": ["GetCallerIdentity"], "Version": ["2011-06-15"], "X-Amz-Algorithm": ["AWS4-HMAC-SHA256"]}
_SIGNED: Final = {"X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature"}
_OPTIONAL: Final = {"X-Amz-Security-Token"}
_PROOF: Final = re.compile(r"[!-~]{1,8192}")  #: a line break would begin another request
_ARN: Final = re.compile(r"<Arn>(arn:[!-~]{1,2040})</Arn>")
_ACCOUNT: Final = re.compile(r"<Account>(\d{12})</Account>")

_REFUSED: Final = "The proof of who you are is not valid; scripts/administer.sh makes one for each action."


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenService:
    """The STS that answers proofs. `endpoint_url` None is that of the region on AWS."""

    region: str
    endpoint_url: str | None = None

    @property
    def url(self) -> str:
        return self.endpoint_url or f"https://sts.{self.region}.amazonaws.com"


def make_proof(action: Mapping[str, Any], *, function: str, service: TokenService, credentials: Credentials) -> str:
    """Return the proof that the holder of the credentials asks for this action of this function."""
    request = AWSRequest(
        "GET",
        f"{service.url}/?Action=GetCallerIdentity&Version=2011-06-15",
        headers={HEADER: _compute_purpose(action, function)},
    )
    SigV4QueryAuth(credentials, "sts", service.region, expires=PROOF_SECONDS).add_auth(request)
    return request.url


def add_proof(action: Mapping[str, Any], *, function: str, clients: AwsClients) -> dict[str, Any]:
    """Return the event of an action with the proof of the clients' credentials, as `administer` takes it."""
    service = TokenService(region=clients.region, endpoint_url=clients.endpoint_url)
    proof = make_proof(action, function=function, service=service, credentials=clients.get_credentials())
    return {**action, PROOF: proof}


def read_operator(
    action: Mapping[str, Any], proof: object, *, function: str, account: str, service: TokenService, now: datetime
) -> str:
    """Return the ARN of whoever made the proof. Raises Forbidden for a proof of something else, an old one, and one of
    another account; SourceUnavailable if STS does not answer."""
    if not isinstance(proof, str) or not _PROOF.fullmatch(proof):
        raise Forbidden(_REFUSED)
    target = _check_proof(proof, service, now)
    status, text = _ask_service(service, target, _compute_purpose(action, function))
    if status >= 500:
        raise SourceUnavailable("The AWS Security Token Service does not answer; try again in a minute.")
    arn, its_account = _ARN.search(text), _ACCOUNT.search(text)
    # Credentials of another account would let the caller pass for anybody: everybody is root of an account of theirs.
    if status != 200 or arn is None or its_account is None or its_account[1] != account:
        raise Forbidden(_REFUSED)
    return arn[1]


def _check_proof(proof: str, service: TokenService, now: datetime) -> str:
    """Return the path and query that STS is asked. Raises Forbidden unless it is a GetCallerIdentity, for this STS, not
    older than a minute, with our header signed."""
    try:
        parts = urlsplit(proof)
        query = parse_qs(parts.query, keep_blank_values=True, strict_parsing=True)
        own = urlsplit(service.url)
        signed_at = datetime.strptime(query["X-Amz-Date"][0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        lives = int(query["X-Amz-Expires"][0])
    except (KeyError, ValueError) as error:
        raise Forbidden(_REFUSED) from error
    age = (now - signed_at).total_seconds()
    headers = query.get("X-Amz-SignedHeaders", [""])[0].split(";")
    if (
        (parts.scheme, parts.netloc, parts.path, parts.fragment) != (own.scheme, own.netloc, "/", "")
        or any(len(values) != 1 for values in query.values())
        or {name: query.get(name) for name in _QUERY} != _QUERY
        or not _SIGNED <= query.keys() - _QUERY.keys() <= _SIGNED | _OPTIONAL
        or not {"host", HEADER} <= set(headers)
        or not 0 < lives <= PROOF_SECONDS
        or not -_SKEW_SECONDS <= age <= lives + _SKEW_SECONDS
    ):
        raise Forbidden(_REFUSED)
    return f"/?{parts.query}"


def _ask_service(service: TokenService, target: str, purpose: str) -> tuple[int, str]:
    """Return status and body of STS's answer; no redirect is followed."""
    own = urlsplit(service.url)
    kind = http.client.HTTPSConnection if own.scheme == "https" else http.client.HTTPConnection
    connection = kind(own.netloc, timeout=_STS_SECONDS)
    try:
        connection.request("GET", target, headers={HEADER: purpose})
        answer = connection.getresponse()
        return answer.status, answer.read(65_536).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        raise SourceUnavailable("The AWS Security Token Service does not answer; try again in a minute.") from error
    finally:
        connection.close()


def _compute_purpose(action: Mapping[str, Any], function: str) -> str:
    asked = {"function": function, "action": {name: value for name, value in action.items() if name != PROOF}}
    return hashlib.sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
