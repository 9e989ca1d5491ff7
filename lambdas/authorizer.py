"""Who is calling: one authorizer for API Gateway and for AppSync, for Cognito tokens and for API keys.

The answer holds for the whole API and names no route, since the gateway keeps it and replays it for other routes
(F-37); who may do what is decided by the use cases. Tenant and role come from our own table (F-38).
"""

from __future__ import annotations

from typing import Any

import jwt

from adapters.settings.processes import Authorizer
from lambdas.cold_start import Handler, entry
from lambdas.jwks import Jwks, fetch_over_http
from lambdas.logs import logger_for
from lambdas.wiring import AuthorizerWiring, authorizer_wiring
from wsi.access import split_api_key
from wsi.ports.ledger import Identities
from wsi.records.identity import Actor

logger = logger_for("authorizer")

CACHE_SECONDS = 60  #: how long AppSync may keep an answer; a revoked key works no longer than this
LEEWAY_SECONDS = 10  #: between the issuer's clock and ours


def make_handler(wiring: AuthorizerWiring, jwks: Jwks | None = None) -> Handler:
    keys = jwks or Jwks(fetch_over_http(wiring.jwks_url))

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        credential = _credential(event)
        actor = _actor(credential, wiring, keys)
        logger.info("authorized" if actor else "unauthorized", extra={"subject": actor.subject if actor else None})
        return _gateway_answer(actor, event["methodArn"]) if "methodArn" in event else _appsync_answer(actor)

    return handle


def _credential(event: dict[str, Any]) -> str:
    """Of a TOKEN or AppSync event, or the Authorization header of a REQUEST event; with or without "Bearer "."""
    headers: dict[str, str] = event.get("headers") or {}
    by_name = {name.lower(): value for name, value in headers.items()}
    raw: str = event.get("authorizationToken") or by_name.get("authorization") or ""
    scheme, _, rest = raw.strip().partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else raw.strip()


def _actor(credential: str, wiring: AuthorizerWiring, keys: Jwks) -> Actor | None:
    if not credential.isascii():  # no key and no token is; hashing and decoding would stumble over half a character
        return None
    return _api_key_actor(credential, wiring.identities) or _token_actor(credential, wiring, keys)


def _api_key_actor(credential: str, identities: Identities) -> Actor | None:
    found = split_api_key(credential)
    return identities.api_key(*found) if found else None


def _token_actor(credential: str, wiring: AuthorizerWiring, keys: Jwks) -> Actor | None:
    """Checks signature, issuer, expiry, kind and app client (`aud` of an id token, `client_id` of an access token)."""
    try:
        key = keys.key(str(jwt.get_unverified_header(credential).get("kid")))
        if key is None:
            return None
        claims: dict[str, Any] = jwt.decode(
            credential,
            key,
            algorithms=["RS256"],  # never what the token itself asks for
            issuer=wiring.issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "sub", "token_use"], "verify_aud": False},
        )
    except jwt.InvalidTokenError:
        return None
    client = {"id": claims.get("aud"), "access": claims.get("client_id")}.get(claims["token_use"])
    if client != wiring.client_id:
        return None
    return wiring.identities.user(wiring.issuer, claims["sub"])


def _flat(actor: Actor) -> dict[str, str]:
    return {"tenant": str(actor.tenant), "subject": actor.subject, "role": actor.role.value}


def _gateway_answer(actor: Actor | None, method_arn: str) -> dict[str, Any]:
    """Raises the one exception that API Gateway turns into 401."""
    if actor is None:
        raise Exception("Unauthorized")
    api, stage, *_ = method_arn.split("/")
    statement = {"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": f"{api}/{stage}/*/*"}
    return {
        "principalId": actor.subject,
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": _flat(actor),
    }


def _appsync_answer(actor: Actor | None) -> dict[str, Any]:
    if actor is None:
        return {"isAuthorized": False, "ttlOverride": 0}
    return {"isAuthorized": True, "resolverContext": _flat(actor), "ttlOverride": CACHE_SECONDS}


handler = entry(Authorizer, authorizer_wiring, make_handler)
