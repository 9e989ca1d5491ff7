"""Authentication: one authorizer for API Gateway and for AppSync, for Cognito tokens and for API keys.

The answer holds for the whole API and names no route, since the gateway keeps it and replays it for other routes
(F-37); the use cases decide who may do what. Tenant and role come from our own table (F-38),
which single sign-on writes by the claims that our trigger adds to tokens (lambdas/tokens/sign_on.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import jwt

from adapters.postgres.connections import Connections
from adapters.postgres.identities import PostgresIdentities
from adapters.settings.processes import AuthorizerSettings
from lambdas.cold_start import Handler, make_entry
from lambdas.http.credentials import is_canonical_token, read_credential
from lambdas.logs import make_logger
from wsi.access import split_api_key
from wsi.errors import SourceUnavailable
from wsi.ports.audit import Refusal
from wsi.ports.identities import Identities
from wsi.records.identity import CLAIM_EMAIL, CLAIM_ROLE, CLAIM_TENANT, Actor, Membership, Role

logger = make_logger("authorizer")

LEEWAY_SECONDS = 10  #: between the issuer's clock and ours
KEYS_SECONDS = 3600.0  #: how long the issuer's public keys are kept
#: Least time between two requests for them: a forged token can name any key.
ASK_SECONDS = 60.0
ISSUER_SECONDS = 5.0  #: for the issuer's answer


@dataclass(frozen=True, kw_only=True)
class AuthorizerWiring:
    """The issuers and the ledger whose tokens and keys are accepted."""

    identities: Identities
    issuer: str
    client_id: str
    jwks_url: str


def make_handler(wiring: AuthorizerWiring, *, ask_seconds: float = ASK_SECONDS) -> Handler:
    keys = jwt.PyJWKClient(
        wiring.jwks_url, lifespan=KEYS_SECONDS, timeout=ISSUER_SECONDS, cooldown_duration=ask_seconds
    )

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        found = _identify(read_credential(event), wiring, keys)
        actor = found.actor if isinstance(found, _Session) else None
        if isinstance(found, _Session):
            wiring.identities.note_session(found.actor, found.id)
        else:
            wiring.identities.note_refusal(found.reason, **found.claimed)
        if actor is not None and "methodArn" not in event and wiring.identities.is_suspended(actor.tenant):
            actor = None  # the API answers with a message; a subscription can only be refused
        logger.info("authorized" if actor else "unauthorized", extra={"subject": actor.subject if actor else None})
        return _gateway_answer(actor, event["methodArn"]) if "methodArn" in event else _appsync_answer(actor)

    return handle


@dataclass(frozen=True, slots=True)
class _Session:
    actor: Actor
    id: str  #: the same for all tokens of one sign-in


@dataclass(frozen=True, slots=True)
class _RefusedSignIn:
    reason: Refusal
    claimed: Mapping[str, str] = field(default_factory=dict[str, str])  #: as `SignInAudit.note_refusal` takes it


def _identify(credential: str | None, wiring: AuthorizerWiring, keys: jwt.PyJWKClient) -> _Session | _RefusedSignIn:
    """Return the session that the credential is of, or why there is none. Raises SourceUnavailable."""
    if credential is None:
        return _RefusedSignIn(Refusal.NO_CREDENTIAL)
    if (key := split_api_key(credential)) is not None:
        actor = wiring.identities.find_api_key(*key)
        return _Session(actor, "key") if actor else _RefusedSignIn(Refusal.WRONG_SECRET, {"prefix": key[0]})
    if not is_canonical_token(credential):
        return _RefusedSignIn(Refusal.MALFORMED)
    try:
        claims = _read_claims(credential, wiring, keys)
    except jwt.ExpiredSignatureError:
        return _RefusedSignIn(Refusal.EXPIRED)
    except (jwt.InvalidTokenError, jwt.PyJWKClientError):
        return _RefusedSignIn(Refusal.NOT_VALID)
    person: dict[str, str] = {"issuer": wiring.issuer, "subject": claims["sub"]}
    if {"id": claims.get("aud"), "access": claims.get("client_id")}.get(claims["token_use"]) != wiring.client_id:
        return _RefusedSignIn(Refusal.WRONG_CLIENT, person)
    actor = _find_person(claims, wiring.identities, **person)
    return _Session(actor, _hash_session(claims)) if actor else _RefusedSignIn(Refusal.UNKNOWN, person)


def _read_claims(credential: str, wiring: AuthorizerWiring, keys: jwt.PyJWKClient) -> dict[str, Any]:
    """Check signature, issuer and expiry; the caller checks the app client (`aud` of an id token, `client_id` of an
    access token). Raises PyJWT's errors, and SourceUnavailable when the issuer's keys cannot be fetched: that is no
    verdict on the token."""
    try:
        key = keys.get_signing_key(str(jwt.get_unverified_header(credential).get("kid")))
        return jwt.decode(
            credential,
            key,
            algorithms=["RS256"],  # never what the token itself asks for
            issuer=wiring.issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "sub", "token_use"], "verify_aud": False},
        )
    except (jwt.PyJWKClientConnectionError, json.JSONDecodeError) as error:
        raise SourceUnavailable("The issuer's keys cannot be fetched; try again in a minute.") from error


def _hash_session(claims: Mapping[str, Any]) -> str:
    """Return what all tokens of one sign-in share: Cognito keeps `origin_jti` and `auth_time` when it renews one."""
    began = claims.get("origin_jti") or claims.get("auth_time") or claims.get("iat") or claims["exp"]
    return hashlib.sha256(f"{claims['sub']} {began}".encode()).hexdigest()


def _find_person(claims: Mapping[str, Any], identities: Identities, *, issuer: str, subject: str) -> Actor | None:
    """Return whose verified token it is: somebody known, or invited; people of single sign-on are added, or changed,
    by its claims."""
    if CLAIM_TENANT not in claims:
        known = identities.find_user(issuer, subject)
        return known or identities.accept_invitation(issuer, subject, _read_verified_email(claims))
    membership = _read_membership(claims)
    return membership and identities.admit_member(issuer, subject, membership)


def _read_membership(claims: Mapping[str, Any]) -> Membership | None:
    """Return what single sign-on wrote into a verified token. None for a role that this release does not know."""
    try:
        return Membership(
            tenant=claims[CLAIM_TENANT],
            role=Role(claims[CLAIM_ROLE]),
            email=claims.get(CLAIM_EMAIL),
            issued_at=datetime.fromtimestamp(claims["iat"], UTC),
        )
    except (KeyError, ValueError):
        return None
        return None


def _read_verified_email(claims: Mapping[str, Any]) -> str | None:
    """Return the address if the issuer vouches that it is this person's; some issuers write the claim as text."""
    is_verified = claims.get("email_verified")
    return claims.get("email") if is_verified is True or is_verified == "true" else None


def _flat(actor: Actor) -> dict[str, str]:
    return {"tenant": str(actor.tenant), "subject": actor.subject, "role": actor.role.value}


def _gateway_answer(actor: Actor | None, method_arn: str) -> dict[str, Any]:
    """Return the policy for API Gateway. Raises the one exception that API Gateway turns into 401."""
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
    """Return the answer for AppSync, which must not keep it: a subscription that begins after a revocation would be
    admitted by an answer from before, and stay."""
    if actor is None:
        return {"isAuthorized": False, "ttlOverride": 0}
    return {"isAuthorized": True, "resolverContext": _flat(actor), "ttlOverride": 0}


def wire(settings: AuthorizerSettings) -> Handler:
    return make_handler(
        AuthorizerWiring(
            identities=PostgresIdentities(Connections.of(settings)),
            issuer=settings.issuer,
            client_id=settings.client_id,
            jwks_url=settings.jwks_url,
        )
    )


handler = make_entry(AuthorizerSettings, wire)
