"""Credentials that must open nothing, through the authorizer with its real adapter and a real Postgres."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jwt
import psycopg
import pytest
from cryptography.hazmat.primitives import serialization

from adapters.postgres.connections import Connections
from adapters.postgres.identities import PostgresIdentities
from adapters.postgres.owner.administration import Administration
from adapters.postgres.owner.seeding import SeedUser, split_key
from lambdas.authorizer import AuthorizerWiring, make_handler
from lambdas.cold_start import Handler
from local.postgres import OWNER, SUPERUSER
from tests.lambdas.test_authorizer import CLIENT, FORGED, ISSUER, KEY, appsync, gateway, id_token, jwks_url, token
from tests.postgres import PostgresServer
from wsi.records.identity import CLAIM_EMAIL, CLAIM_ROLE, CLAIM_TENANT, Role

__all__ = ["jwks_url"]

OTHER_POOL = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Other"


@dataclass
class Door:
    """An authorizer over a database with people and keys in every condition."""

    authorize: Handler
    keys: dict[str, str]

    def opens(self, credential: str) -> bool:
        is_open: bool = self.authorize(appsync(credential), None)["isAuthorized"]
        if is_open:
            assert "policyDocument" in self.authorize(gateway(credential), None)
        else:
            with pytest.raises(Exception, match=r"^Unauthorized$"):
                self.authorize(gateway(credential), None)
        return is_open


@pytest.fixture(scope="module")
def door(postgres: PostgresServer, jwks_url: str) -> Iterator[Door]:
    database = postgres.clone()
    owner = Administration(lambda: database.server.make_dsn(OWNER, database.name))
    owner.add_tenant("hospital")
    for subject in ("sub-7", "disabled"):
        owner.add_user("hospital", SeedUser(issuer=ISSUER, subject=subject, role=Role.ADMIN))
    owner.add_user("hospital", SeedUser(issuer=OTHER_POOL, subject="of another pool", role=Role.ADMIN))
    owner.disable_user(ISSUER, "disabled")
    keys = {name: owner.add_key("hospital", name, Role.ANALYST) for name in ("good", "revoked", "expired")}
    owner.revoke_key("hospital", "revoked")
    with psycopg.connect(database.server.make_dsn(SUPERUSER, database.name)) as connection:
        connection.execute("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE name = 'expired'")
    connections = Connections(database.api_dsn)
    wiring = AuthorizerWiring(
        identities=PostgresIdentities(connections), issuer=ISSUER, client_id=CLIENT, jwks_url=jwks_url
    )
    yield Door(make_handler(wiring), keys)
    connections.close()
    postgres.drop(database)


def get_now() -> int:
    """Return the time of the test: in a whole run, modules are read half an hour earlier."""
    return int(time.time())


def encode(part: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def with_header(**header: object) -> str:
    """A good token's claims and signature behind another header."""
    _, claims, signature = token().split(".")
    return f"{encode({'alg': 'RS256', 'kid': 'k1', **header})}.{claims}.{signature}"


def with_claims(**claims: object) -> str:
    """A good token's header and signature around other claims."""
    header, good, signature = token().split(".")
    known = json.loads(base64.urlsafe_b64decode(good + "=="))
    return f"{header}.{encode({**known, **claims})}.{signature}"


def signed_with_the_public_key() -> str:
    """A library that lets a token choose its algorithm takes the public key for the shared secret (CVE-2022-29217)."""
    public = KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    header, claims = encode({"alg": "HS256", "kid": "k1"}), token().split(".")[1]
    signature = hmac.digest(public, f"{header}.{claims}".encode(), "sha256")
    return f"{header}.{claims}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


SSO = {CLAIM_TENANT: "hospital", CLAIM_ROLE: "admin", CLAIM_EMAIL: "eve@hospital.example"}
FORGERIES: dict[str, Callable[[Door], str]] = {
    # tokens of somebody else's making
    "signed by another key": lambda _: token(key=FORGED),
    "signed by another key under an unknown id": lambda _: token(key=FORGED, key_id="k9"),
    "unsigned, alg none": lambda _: f"{encode({'alg': 'none', 'kid': 'k1'})}.{token().split('.')[1]}.",
    "unsigned, alg NONE with a signature": lambda _: with_header(alg="NONE"),
    "no algorithm": lambda _: with_header(alg=None),
    "HS256 with the public key as the secret": lambda _: signed_with_the_public_key(),
    "HS256": lambda _: token(key="x" * 64, algorithm="HS256"),
    "RS512 instead of RS256": lambda _: token(algorithm="RS512"),
    "PS256 instead of RS256": lambda _: token(algorithm="PS256"),
    "a key by its own address (jku)": lambda _: with_header(jku="http://127.0.0.1:1/keys.json"),
    "a key in the token (jwk)": lambda _: with_header(jwk={"kty": "oct", "k": "eHh4"}),
    "a certificate by its address (x5u)": lambda _: with_header(x5u="http://127.0.0.1:1/cert.pem"),
    "an extension that must be understood (crit)": lambda _: with_header(crit=["exp"]),
    "a key id that is a path": lambda _: token(key_id="../../etc/passwd"),
    "a key id that is SQL": lambda _: token(key_id="' OR 1=1 --"),
    # changed after signing
    "another subject after signing": lambda _: with_claims(sub="disabled"),
    "a longer life after signing": lambda _: with_claims(exp=get_now() + 10**6),
    "a tenant and role after signing": lambda _: with_claims(**SSO),
    "no signature": lambda _: token().rpartition(".")[0] + ".",
    "another token's signature": lambda _: (
        token().rpartition(".")[0] + "." + token(exp=get_now() + 9).rpartition(".")[2]
    ),
    # good signature, wrong claims
    "expired": lambda _: token(exp=get_now() - 60),
    "never expires": lambda _: token(exp=None),
    "not valid yet": lambda _: token(nbf=get_now() + 600),
    "of another pool, by this pool's key": lambda _: token(iss=OTHER_POOL),
    "of another pool, a person of it": lambda _: token(iss=OTHER_POOL, sub="of another pool"),
    "an issuer that begins alike": lambda _: token(iss=ISSUER + "/"),
    "for another app client": lambda _: token(client_id="client-2"),
    "an id token for another audience": lambda _: id_token(aud="client-2"),
    "an id token for several audiences": lambda _: id_token(aud=[CLIENT, "client-2"]),
    "an access token that says id": lambda _: token(token_use="id"),
    "an id token that says access": lambda _: id_token(token_use="access"),
    "a refresh token": lambda _: token(token_use="refresh"),
    "without a subject": lambda _: token(sub=None),
    "a subject that is SQL": lambda _: token(sub="sub-7' OR '1'='1"),
    "a subject in another case": lambda _: token(sub="SUB-7"),
    # good tokens of people who may not
    "of a disabled person": lambda _: token(sub="disabled"),
    "of a person of another issuer with an account here": lambda _: token(sub="of another pool"),
    "of nobody known": lambda _: token(sub="stranger"),
    "of nobody known, whose address nobody verified": lambda _: id_token(sub="eve", email="a@b.example"),
    "single sign-on into a tenant that does not exist": lambda _: token(sub="eve", **{**SSO, CLAIM_TENANT: "nowhere"}),
    "single sign-on in a role that does not exist": lambda _: token(sub="eve", **{**SSO, CLAIM_ROLE: "root"}),
    "single sign-on without a role": lambda _: token(sub="eve", **{CLAIM_TENANT: "hospital"}),
    "single sign-on of a disabled person": lambda _: token(sub="disabled", **SSO),
    # keys
    "a revoked key": lambda door: door.keys["revoked"],
    "an expired key": lambda door: door.keys["expired"],
    "a key with another key's secret": lambda door: (
        f"tsk_{split_key(door.keys['good'])[0]}_{door.keys['revoked'].rpartition('_')[2]}"
    ),
    "a key without its last letter": lambda door: door.keys["good"][:-1],
    "a key in capitals": lambda door: door.keys["good"].upper(),
    "a key with a NUL": lambda door: door.keys["good"] + "\0",
    "the hash in place of the secret": lambda door: "tsk_" + "_".join(split_key(door.keys["good"])),
}


def test_good_ones_open_the_door(door: Door) -> None:
    assert door.opens(token())
    assert door.opens(id_token())
    assert door.opens(door.keys["good"])


@pytest.mark.parametrize("name", list(FORGERIES))
def test_a_forgery_opens_nothing(door: Door, name: str) -> None:
    assert not door.opens(FORGERIES[name](door))


def test_a_token_of_another_library_is_as_good(door: Door) -> None:
    """The forgeries above fail for what is wrong with them, not for who wrote them."""
    claims = json.loads(base64.urlsafe_b64decode(token().split(".")[1] + "=="))
    assert door.opens(jwt.encode(claims, KEY, algorithm="RS256", headers={"kid": "k1", "typ": "at+jwt"}))
