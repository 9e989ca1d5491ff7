"""The authorizer on real RS256 tokens, with the issuer's keys served over HTTP."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import logging
import threading
import time
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from uuid import UUID

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from lambdas.authorizer import AuthorizerWiring, logger, make_handler
from wsi.errors import SourceUnavailable
from wsi.ports.audit import Refusal
from wsi.records.identity import Actor, Membership, Role

ISSUER = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Pool"
CLIENT = "client-1"
TENANT = UUID("11111111-1111-4111-8111-111111111111")
ARN = "arn:aws:execute-api:eu-central-1:123456789012:abcdef/v1/GET/api/v1/wsi/jobs"
PERSON = Actor(tenant=TENANT, subject="user:7", role=Role.ANALYST)
INVITED = Actor(tenant=TENANT, subject="user:8", role=Role.VIEWER)
SUSPENDED = Actor(tenant=UUID(int=9), subject="user:9", role=Role.ADMIN)
SERVICE = Actor(tenant=TENANT, subject="key:9", role=Role.VIEWER)

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
FORGED = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass(frozen=True)
class Known:
    """Identities: one person, one key."""

    sessions: list[tuple[str, str]] = field(default_factory=list)
    refusals: list[tuple[Refusal, dict]] = field(default_factory=list)

    def note_session(self, actor: Actor, session: str) -> None:
        self.sessions.append((actor.subject, session))

    def note_refusal(self, reason: Refusal, **claimed: str) -> None:
        self.refusals.append((reason, claimed))

    def find_user(self, issuer: str, subject: str) -> Actor | None:
        return {"sub-7": PERSON, "sub-9": SUSPENDED}.get(subject) if issuer == ISSUER else None

    def admit_member(self, issuer: str, subject: str, membership: Membership) -> Actor | None:
        return replace(PERSON, role=membership.role) if (issuer, membership.tenant) == (ISSUER, "one") else None

    def find_api_key(self, prefix: str, secret_sha256: str) -> Actor | None:
        return SERVICE if (prefix, secret_sha256) == ("abc", hashlib.sha256(b"s3cr_et-1").hexdigest()) else None

    def accept_invitation(self, issuer: str, subject: str, email: str | None) -> Actor | None:
        return INVITED if subject == "sub-8" and email == "ada@hospital.example" else None

    def is_suspended(self, tenant: UUID) -> bool:
        return tenant == SUSPENDED.tenant


def jwk(key_id: str, key: rsa.RSAPrivateKey) -> dict[str, str]:
    return {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())), "kid": key_id, "use": "sig"}


@pytest.fixture(scope="module")
def jwks_url():
    body = json.dumps({"keys": [jwk("k1", KEY), {"kty": "EC", "kid": "other"}]}).encode()

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Keys)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/jwks.json"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def known():
    return Known()


@pytest.fixture
def authorize(jwks_url, known):
    return make_handler(AuthorizerWiring(identities=known, issuer=ISSUER, client_id=CLIENT, jwks_url=jwks_url))


def token(key=KEY, key_id="k1", algorithm="RS256", **changes) -> str:
    now = int(time.time())
    claims = {
        "iss": ISSUER,
        "sub": "sub-7",
        "token_use": "access",
        "client_id": CLIENT,
        "iat": now,
        "exp": now + 86_400,  # tokens of parameters are made long before their tests
        **changes,
    }
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": key_id})


def id_token(**changes) -> str:
    return token(**{"token_use": "id", "client_id": None, "aud": CLIENT, **changes})


def gateway(credential: str) -> dict:
    return from_gateway(f"Bearer {credential}")


def from_gateway(header: str) -> dict:
    return {"type": "TOKEN", "authorizationToken": header, "methodArn": ARN}


def appsync(credential: str) -> dict:
    return {"authorizationToken": credential, "requestContext": {"apiId": "x", "queryString": "subscription {}"}}


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "bEaReR "])
@pytest.mark.parametrize("issue", [token, id_token])
def test_a_good_token_opens_the_whole_api_for_its_person(authorize, scheme, issue):
    answer = authorize(from_gateway(scheme + issue()), None)
    assert answer["principalId"] == "user:7"
    assert answer["context"] == {"tenant": str(TENANT), "subject": "user:7", "role": "analyst"}
    (statement,) = answer["policyDocument"]["Statement"]
    assert statement["Effect"] == "Allow"
    assert statement["Resource"] == "arn:aws:execute-api:eu-central-1:123456789012:abcdef/v1/*/*"


def test_a_request_event_is_read_from_its_header_in_any_case(authorize):
    event = {"type": "REQUEST", "methodArn": ARN, "headers": {"authorization": f"Bearer {token()}"}}
    assert authorize(event, None)["context"]["subject"] == "user:7"


def test_appsync_gets_the_same_context(authorize):
    answer = authorize(appsync(token()), None)
    assert answer["isAuthorized"] is True
    assert answer["resolverContext"] == {"tenant": str(TENANT), "subject": "user:7", "role": "analyst"}
    assert answer["ttlOverride"] == 0, "a kept answer would admit somebody who was revoked meanwhile"


@pytest.mark.parametrize("verified", [True, "true"])
def test_an_invited_person_is_let_in_by_an_address_that_the_issuer_vouches_for(authorize, verified):
    claims = {"sub": "sub-8", "email": "ada@hospital.example", "email_verified": verified}
    assert authorize(gateway(id_token(**claims)), None)["context"]["subject"] == "user:8"


@pytest.mark.parametrize("verified", [False, "false", None, 1, "yes"])
def test_an_address_that_nobody_vouches_for_lets_nobody_in(authorize, verified):
    claims = {"sub": "sub-8", "email": "ada@hospital.example", "email_verified": verified}
    with pytest.raises(Exception, match="Unauthorized"):
        authorize(gateway(id_token(**claims)), None)


def test_people_of_a_suspended_tenant_reach_the_api_which_says_why_and_no_push(authorize):
    suspended = token(sub="sub-9")
    assert authorize(gateway(suspended), None)["context"]["subject"] == "user:9"
    assert authorize(appsync(suspended), None)["isAuthorized"] is False


def test_an_api_key_is_known_by_its_hash(authorize):
    credential = "tsk_abc_s3cr_et-1"
    assert authorize(gateway(credential), None)["context"]["subject"] == "key:9"
    assert authorize(appsync(credential), None)["resolverContext"]["role"] == "viewer"


SIGNED_ON = {"tessera_tenant": "one", "tessera_role": "viewer", "tessera_email": "ada@one.example"}


@pytest.mark.parametrize("issue", [token, id_token])
def test_single_sign_on_admits_by_the_claims_that_the_trigger_wrote(authorize, issue):
    assert authorize(gateway(issue(sub="new", **SIGNED_ON)), None)["context"]["role"] == "viewer"
    assert authorize(appsync(issue(sub="new", **SIGNED_ON)), None)["resolverContext"]["role"] == "viewer"


@pytest.mark.parametrize(
    "claims",
    [
        {"custom:groups": "it-admins", "custom:tessera_tenant": "one", "custom:tessera_role": "admin"},
        {"cognito:groups": ["admin"], "tessera_role": "admin"},
        {**SIGNED_ON, "tessera_role": "root"},
        {**SIGNED_ON, "tessera_tenant": "two"},
        {"tessera_tenant": "one"},
        {**SIGNED_ON, "iat": None},
        {**SIGNED_ON, "iss": "https://other.example"},
    ],
    ids=str,
)
def test_claims_that_the_trigger_did_not_write_admit_nobody(authorize, claims):
    assert authorize(appsync(token(sub="new", **claims)), None)["isAuthorized"] is False


BAD = {
    "nothing": "",
    "not a token": "hello",
    "expired": token(exp=int(time.time()) - 60),
    "without expiry": token(exp=None),
    "not yet valid": token(nbf=int(time.time()) + 80_000),
    "another issuer": token(iss=ISSUER + "2"),
    "another client": token(client_id="client-2"),
    "another audience": id_token(aud="client-2"),
    "an id token that says access": token(client_id=None, aud=CLIENT),
    "an access token that says id": token(token_use="id"),
    "no use": token(token_use=None),
    "another use": token(token_use="refresh"),
    "forged": token(key=FORGED),
    "unknown key id": token(key_id="k2"),
    "no person of ours": token(sub="sub-8"),
    "signed with a shared secret": token(key="x" * 64, algorithm="HS256"),
    "API key with another secret": "tsk_abc_s3cr_et-2",
    "API key with another prefix": "tsk_abd_s3cr_et-1",
    "API key without a secret": "tsk_abc_",
    "half a character": "\udcff",
    "API key with half a character": "tsk_abc_\udcff",
    "parts with letters that no token has": "ÿ.ÿ.ÿ",
}


#: Why those that can happen to somebody honest are refused; of a token that is not valid nothing is believed.
REASONS = {
    "nothing": Refusal.NO_CREDENTIAL,
    "not a token": Refusal.MALFORMED,
    "expired": Refusal.EXPIRED,
    "another client": Refusal.WRONG_CLIENT,
    "forged": Refusal.NOT_VALID,
    "no person of ours": Refusal.UNKNOWN,
    "API key with another secret": Refusal.WRONG_SECRET,
}
CLAIMED = {
    "another client": {"issuer": ISSUER, "subject": "sub-7"},
    "no person of ours": {"issuer": ISSUER, "subject": "sub-8"},
    "API key with another secret": {"prefix": "abc"},
}


@pytest.mark.parametrize("why", REASONS)
def test_a_refused_sign_in_is_recorded_with_its_reason(authorize, known, why):
    authorize(appsync(BAD[why]), None)
    assert known.refusals == [(REASONS[why], CLAIMED.get(why, {}))]
    assert known.sessions == []


def test_all_tokens_of_one_sign_in_are_one_session(authorize, known):
    for changes in ({"auth_time": 5, "jti": "a"}, {"auth_time": 5, "jti": "b"}, {"auth_time": 6}):
        authorize(appsync(token(**changes)), None)
    (first, second, other) = known.sessions
    assert first == second != other
    assert {subject for subject, _ in known.sessions} == {"user:7"}
    assert known.refusals == []
    authorize(appsync("tsk_abc_s3cr_et-1"), None)
    assert known.sessions[-1] == ("key:9", "key")


@pytest.mark.parametrize("credential", BAD.values(), ids=BAD.keys())
def test_anything_else_is_unauthorized(authorize, credential):
    with pytest.raises(Exception, match=r"^Unauthorized$"):
        authorize(gateway(credential), None)
    assert authorize(appsync(credential), None) == {"isAuthorized": False, "ttlOverride": 0}


#: Headers that the firewall would count as other credentials than "bearer tsk_abc_s3cr_et-1".
OTHERWISE = (
    "tsk_abc_s3cr_et-1",
    "Bearer  tsk_abc_s3cr_et-1",
    "Bearer\ttsk_abc_s3cr_et-1",
    " Bearer tsk_abc_s3cr_et-1",
    "Bearer tsk_abc_s3cr_et-1 ",
    "Bearer Bearer tsk_abc_s3cr_et-1",
    "Basic tsk_abc_s3cr_et-1",
    "Bearer tsk_abc_s3cr_et-1,",
)


@pytest.mark.parametrize("header", OTHERWISE)
def test_a_credential_in_another_spelling_is_unauthorized(authorize, header):
    with pytest.raises(Exception, match=r"^Unauthorized$"):
        authorize(from_gateway(header), None)


def test_a_token_has_one_spelling(authorize):
    signed, _, signature = token().rpartition(".")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    place = alphabet.index(signature[-1])  # 256 bytes fill 342 characters and leave four bits of the last one
    same_bytes = [signature[:-1] + alphabet[place // 16 * 16 + bits] for bits in range(16)]
    spellings = [*same_bytes, signature + "==", signature + "=", "!" + signature, signature[:9] + "*" + signature[9:]]
    decoded = {base64.urlsafe_b64decode(one.rstrip("=") + "==") for one in spellings}
    assert len(decoded) == 1, "else this test shows nothing"
    opened = [one for one in spellings if authorize(appsync(f"{signed}.{one}"), None)["isAuthorized"]]
    assert opened == [signature]


def test_push_takes_the_bare_credential_only(authorize):
    assert authorize(appsync("tsk_abc_s3cr_et-1"), None)["isAuthorized"]
    assert not authorize(appsync("Bearer tsk_abc_s3cr_et-1"), None)["isAuthorized"]


def test_no_credential_is_logged(authorize):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logger.registered_formatter)
    logger.addHandler(handler)
    try:
        for credential in (token(), "tsk_abc_s3cr_et-1", token(exp=1)):
            authorize(appsync(credential), None)
            assert credential.split(".")[-1] not in stream.getvalue()
    finally:
        logger.removeHandler(handler)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["message"], line.get("subject")) for line in lines] == [
        ("authorized", "user:7"),
        ("authorized", "key:9"),
        ("unauthorized", None),
    ]
    assert "s3cr_et" not in stream.getvalue()


class Issuer:
    """Serves what it has just now, and counts who asks."""

    def __init__(self) -> None:
        self.body = json.dumps({"keys": [jwk("k1", KEY)]}).encode()
        self.asked = 0
        issuer = self

        class Keys(BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.asked += 1
                self.send_response(200)
                self.end_headers()
                self.wfile.write(issuer.body)

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Keys)
        self.url = f"http://127.0.0.1:{self.server.server_port}/jwks.json"


@pytest.fixture
def issuer():
    served = Issuer()
    thread = threading.Thread(target=served.server.serve_forever)
    thread.start()
    yield served
    served.server.shutdown()
    thread.join()
    served.server.server_close()


def handler_of(url: str, **how):
    return make_handler(AuthorizerWiring(identities=Known(), issuer=ISSUER, client_id=CLIENT, jwks_url=url), **how)


def test_a_key_that_nobody_knows_does_not_make_us_ask_the_issuer_each_time(issuer):
    authorize = handler_of(issuer.url)
    assert authorize(appsync(token()), None)["isAuthorized"]
    for _ in range(5):
        assert not authorize(appsync(token(FORGED, "k2")), None)["isAuthorized"]
    assert authorize(appsync(token()), None)["isAuthorized"]
    assert issuer.asked == 1


def test_a_key_that_the_issuer_added_is_asked_for(issuer):
    authorize = handler_of(issuer.url, ask_seconds=0.0)
    assert authorize(appsync(token()), None)["isAuthorized"]
    issuer.body = json.dumps({"keys": [jwk("k1", KEY), jwk("k2", FORGED)]}).encode()
    assert authorize(appsync(token(FORGED, "k2")), None)["isAuthorized"]
    assert issuer.asked == 2


@pytest.mark.parametrize("body", [b"<html>", b""])
def test_an_issuer_that_answers_something_else_is_no_verdict_on_the_token(issuer, body):
    issuer.body = body
    with pytest.raises(SourceUnavailable):
        handler_of(issuer.url)(gateway(token()), None)


def test_an_issuer_that_does_not_answer_is_no_verdict_on_the_token():
    with pytest.raises(SourceUnavailable):
        handler_of("http://127.0.0.1:1/jwks.json")(gateway(token()), None)
