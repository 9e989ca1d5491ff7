"""Who may sign in, and how."""

from __future__ import annotations

from typing import Any

from tests.cdk.templates import Templates


def pool(templates: Templates) -> dict[str, Any]:
    return templates.resource("AWS::Cognito::UserPool", "auth")["Properties"]


def client(templates: Templates) -> dict[str, Any]:
    return templates.resource("AWS::Cognito::UserPoolClient", "auth")["Properties"]


def test_nobody_signs_up_by_himself(templates: Templates) -> None:
    assert pool(templates)["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}


def test_everybody_with_a_password_needs_a_second_factor_and_no_sms(templates: Templates) -> None:
    assert pool(templates)["MfaConfiguration"] == "ON"
    assert pool(templates)["EnabledMfas"] == ["SOFTWARE_TOKEN_MFA"]


def test_people_outlive_the_stack_in_production(prod: Templates) -> None:
    assert pool(prod)["DeletionProtection"] == "ACTIVE"


def test_people_write_no_attribute_of_themselves_but_their_address(templates: Templates) -> None:
    assert client(templates)["WriteAttributes"] == ["email"]


def test_without_a_provider_nobody_signs_on_and_nothing_writes_claims(templates: Templates) -> None:
    assert client(templates)["SupportedIdentityProviders"] == ["COGNITO"]
    assert not templates.resources("AWS::Cognito::UserPoolIdentityProvider")
    assert "LambdaConfig" not in pool(templates)


def test_the_page_signs_in_by_code_and_has_no_secret(templates: Templates) -> None:
    found = client(templates)
    assert found["GenerateSecret"] is False
    assert found["AllowedOAuthFlows"] == ["code"]
    assert "ALLOW_USER_PASSWORD_AUTH" not in found["ExplicitAuthFlows"]
    assert found["PreventUserExistenceErrors"] == "ENABLED"


def test_people_come_back_to_the_exact_addresses_of_the_deployment(dev: Templates, prod: Templates) -> None:
    assert client(prod)["CallbackURLs"] == ["https://wsi.example.org/"] == client(prod)["LogoutURLs"]
    assert client(dev)["CallbackURLs"] == ["http://localhost:5173/"]
