"""The trigger of single sign-on: whose groups count, and what they become."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.settings.processes import SignOnSettings
from lambdas.tokens.sign_on import make_handler, split_groups, wire
from wsi.errors import Forbidden
from wsi.records.identity import Role

ROLES = {
    "pathology": ("one", Role.VIEWER),
    "pathology-lab": ("one", Role.ANALYST),
    "it-admins": ("one", Role.ADMIN),
    "other-clinic": ("two", Role.ANALYST),
}
trigger = make_handler(provider="Hospital", is_saml=True, roles=ROLES)


def event(groups: str | None, *, name: str = "Hospital_ada", **attributes: str) -> dict[str, Any]:
    given = {"sub": "1", "cognito:user_status": "EXTERNAL_PROVIDER", "email": "ada@one.example", **attributes}
    if groups is not None:
        given["custom:groups"] = groups
    return {
        "version": "2",
        "triggerSource": "TokenGeneration_HostedAuth",
        "userName": name,
        "request": {"userAttributes": given, "scopes": ["openid"]},
        "response": {},
    }


def claims(said: dict[str, Any]) -> dict[str, str]:
    details = said["response"]["claimsAndScopeOverrideDetails"]
    in_access, in_id = details["accessTokenGeneration"], details["idTokenGeneration"]
    assert in_access == in_id
    return in_access["claimsToAddOrOverride"]


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        ("pathology", "viewer"),
        ("[staff, pathology-lab]", "analyst"),
        ("[pathology, it-admins, pathology-lab]", "admin"),
    ],
)
def test_the_highest_role_of_a_persons_groups_is_claimed_in_both_tokens(groups: str, role: str) -> None:
    said = claims(trigger(event(groups), None))
    assert said == {"tessera_tenant": "one", "tessera_role": role, "tessera_email": "ada@one.example"}


@pytest.mark.parametrize("groups", [None, "", "[]", "[staff, Pathology]", "staff", "pathology, it-admins"])
def test_without_a_mapped_group_nobody_gets_a_token(groups: str | None) -> None:
    with pytest.raises(Forbidden, match="None of your groups gives access"):
        trigger(event(groups), None)


def test_groups_of_two_tenants_are_refused() -> None:
    with pytest.raises(Forbidden, match="several tenants"):
        trigger(event("[it-admins, other-clinic]"), None)


@pytest.mark.parametrize(
    "said",
    [
        event("it-admins", name="0f3c", **{"cognito:user_status": "CONFIRMED"}),
        event("it-admins", name="Hospital_ada", **{"cognito:user_status": "CONFIRMED"}),
        event("it-admins", name="Other_ada"),
        event("it-admins", name="HospitalX_ada"),
    ],
    ids=["with a password", "with the provider's name", "of another provider", "of a longer name"],
)
def test_groups_that_the_provider_did_not_state_are_worth_nothing(said: dict[str, Any]) -> None:
    assert trigger(said, None)["response"] == {}


def test_one_name_with_a_comma_is_one_group() -> None:
    assert split_groups("staff, it-admins", is_saml=True) == {"staff, it-admins"}
    assert split_groups("[a%2C+it-admins, b]", is_saml=True) == {"a, it-admins", "b"}
    assert split_groups('["a, it-admins", "b"]', is_saml=False) == {"a, it-admins", "b"}
    assert split_groups("[a, b]", is_saml=False) == {"a", "b"}
    assert split_groups("[it%2Dadmins]", is_saml=False) == {"it%2Dadmins"}


names = st.sets(st.sampled_from([*ROLES, "staff", "x y", "ä", "a,b"]), min_size=2)


@given(names)
def test_several_groups_of_saml_are_read_as_cognito_writes_them(groups: set[str]) -> None:
    assert split_groups(f"[{', '.join(map(quote_plus, groups))}]", is_saml=True) == groups


def test_the_settings_of_the_deployment_make_the_same_trigger() -> None:
    settings = SignOnSettings(provider="Hospital", is_saml=False, roles=json.dumps(ROLES))
    made = wire(SignOnSettings.from_environ(settings.make_environ()))
    assert claims(made(event('["it-admins"]'), None))["tessera_role"] == "admin"
