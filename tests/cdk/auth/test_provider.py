"""Single sign-on: the provider in the pool, the trigger that writes claims, and who may sign in by it."""

from __future__ import annotations

import json
from typing import Any

from tests.cdk.auth.test_auth import client, pool
from tests.cdk.policies import statements
from tests.cdk.templates import Templates

TRIGGER = "auth/SignOn/Claims/Resource"


def provider(templates: Templates) -> dict[str, Any]:
    return templates.resource("AWS::Cognito::UserPoolIdentityProvider", "auth")["Properties"]


def logical_id(templates: Templates, path: str) -> str:
    wanted = templates.by_path()[path]
    return next(id for id, found, _ in templates.all_resources() if found is wanted)


def test_a_provider_of_saml_states_groups_and_address(furnished: Templates) -> None:
    found = provider(furnished)
    assert (found["ProviderType"], found["ProviderName"]) == ("SAML", "Hospital")
    assert found["ProviderDetails"]["MetadataURL"] == "https://login.example.org/metadata"
    assert found["ProviderDetails"].get("IDPInit", "false") in (False, "false")
    address = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress"
    assert found["AttributeMapping"] == {"custom:groups": "memberOf", "email": address}


def test_a_provider_of_openid_connect_keeps_its_secret_in_secrets_manager(dev_by_codebuild: Templates) -> None:
    found = provider(dev_by_codebuild)
    assert (found["ProviderType"], found["ProviderDetails"]["oidc_issuer"]) == ("OIDC", "https://login.example.org")
    assert found["ProviderDetails"]["client_secret"].startswith("{{resolve:secretsmanager:arn:aws:")
    assert "openid" in found["ProviderDetails"]["authorize_scopes"].split()
    assert found["AttributeMapping"] == {"custom:groups": "groups", "email": "email"}


def test_the_page_signs_in_by_password_and_by_the_provider(furnished: Templates) -> None:
    found = client(furnished)
    assert found["SupportedIdentityProviders"] == ["COGNITO", "Hospital"]
    assert found["WriteAttributes"] == ["custom:groups", "email"]
    resource = furnished.resource("AWS::Cognito::UserPoolClient", "auth")
    assert logical_id(furnished, "auth/SignOn/Saml/Resource") in resource["DependsOn"]


def test_no_token_of_the_page_lets_people_write_their_own_groups(furnished: Templates) -> None:
    """The scope that would is not among those of the hosted page, the only way in for people of the provider."""
    assert client(furnished)["AllowedOAuthScopes"] == ["openid", "email"]


def test_the_pool_keeps_groups_that_change_with_each_sign_in(templates: Templates) -> None:
    [attribute] = pool(templates)["Schema"]
    assert (attribute["Name"], attribute["Mutable"]) == ("groups", True)
    assert attribute["StringAttributeConstraints"]["MaxLength"] == "2048"


def test_the_trigger_writes_both_tokens_and_knows_the_groups(furnished: Templates) -> None:
    trigger = furnished.by_path()[TRIGGER]["Properties"]
    config = pool(furnished)["LambdaConfig"]["PreTokenGenerationConfig"]
    assert config["LambdaVersion"] == "V2_0"
    assert config["LambdaArn"] == {"Fn::GetAtt": [logical_id(furnished, TRIGGER), "Arn"]}
    variables = trigger["Environment"]["Variables"]
    assert (variables["TESSERA_PROVIDER"], variables["TESSERA_IS_SAML"]) == ("Hospital", "True")
    assert json.loads(variables["TESSERA_ROLES"])["it-admins"] == ["pathology", "admin"]
    assert trigger["Timeout"] <= 5, "Cognito waits no longer"


def test_the_trigger_reaches_nothing_and_only_the_pool_calls_it(furnished: Templates) -> None:
    assert "VpcConfig" not in furnished.by_path()[TRIGGER]["Properties"]
    actions = {a for one in statements(furnished) if one.path.startswith("auth/SignOn/Claims") for a in one.actions}
    allowed = {"logs:CreateLogStream", "logs:PutLogEvents", "xray:PutTraceSegments", "xray:PutTelemetryRecords"}
    assert actions - {"sts:AssumeRole"} <= allowed
    [permission] = [
        one["Properties"]
        for one in furnished.resources("AWS::Lambda::Permission", "auth").values()
        if one["Properties"]["Principal"] == "cognito-idp.amazonaws.com"
    ]
    assert permission["SourceArn"]["Fn::GetAtt"][1] == "Arn"


def test_the_hospital_is_told_what_to_enter(furnished: Templates, dev_by_codebuild: Templates) -> None:
    for templates, path in ((furnished, "/saml2/idpresponse"), (dev_by_codebuild, "/oauth2/idpresponse")):
        outputs = templates.by_noun["auth"]["Outputs"]
        assert json.dumps(outputs["SignOnAnswerUrl"]["Value"]).endswith(f'{path}"]]}}')
        assert "urn:amazon:cognito:sp:" in json.dumps(outputs["SignOnEntityId"]["Value"])
