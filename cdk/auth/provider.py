"""The hospital's identity provider in the user pool, and the trigger that turns its groups into claims."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from adapters.settings.processes import SignOnSettings
from cdk.bundling import AssetKind
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack
from cdk.python_function import PythonFunction
from cdk.sign_on import SignOn

#: The pool's attribute for the provider's groups. Every pool has it: attributes cannot be removed.
GROUPS = "groups"
_Mapped = cognito.ProviderAttribute.other


class Provider(Construct):
    """`resource`, which the app client must wait for; `client_provider`, its name in the pool; `answer_path` of the
    sign-in page, which the provider sends people back to."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        sign_on: SignOn,
        pool: cognito.UserPool,
        network: NetworkStack,
    ) -> None:
        super().__init__(scope, id)
        mapping = cognito.AttributeMapping(
            email=_Mapped(sign_on.email_attribute), custom={f"custom:{GROUPS}": _Mapped(sign_on.groups)}
        )
        self.resource = self._saml(sign_on, pool, mapping) if sign_on.is_saml else self._oidc(sign_on, pool, mapping)
        self.answer_path = "/saml2/idpresponse" if sign_on.is_saml else "/oauth2/idpresponse"
        self.client_provider = cognito.UserPoolClientIdentityProvider.custom(sign_on.name)
        trigger = PythonFunction(
            self,
            "Claims",
            deployment=deployment,
            name="tokens.sign_on",
            asset=AssetKind.API,
            log_key=network.log_key,
            network=None,  # it reads its event and nothing else
            settings=SignOnSettings(provider=sign_on.name, is_saml=sign_on.is_saml, roles=sign_on.roles_as_json),
            memory_mib=512,
        )
        # Version 2 writes the access token too, which the page sends.
        pool.add_trigger(cognito.UserPoolOperation.PRE_TOKEN_GENERATION_CONFIG, trigger, cognito.LambdaVersion.V2_0)

    def _saml(
        self, sign_on: SignOn, pool: cognito.UserPool, mapping: cognito.AttributeMapping
    ) -> cognito.UserPoolIdentityProviderSaml:
        metadata = cognito.UserPoolIdentityProviderSamlMetadata
        return cognito.UserPoolIdentityProviderSaml(
            self,
            "Saml",
            user_pool=pool,
            name=sign_on.name,
            metadata=metadata.url(sign_on.metadata_url)
            if sign_on.metadata_url
            else metadata.file(Path(str(sign_on.metadata_file)).read_text()),
            idp_initiated=False,  # a sign-in that the page did not begin may be somebody else's
            attribute_mapping=mapping,
        )

    def _oidc(
        self, sign_on: SignOn, pool: cognito.UserPool, mapping: cognito.AttributeMapping
    ) -> cognito.UserPoolIdentityProviderOidc:
        secret = cdk.SecretValue.secrets_manager(str(sign_on.client_secret_arn))
        return cognito.UserPoolIdentityProviderOidc(
            self,
            "Oidc",
            user_pool=pool,
            name=sign_on.name,
            issuer_url=str(sign_on.issuer),
            client_id=str(sign_on.client_id),
            client_secret=secret.unsafe_unwrap(),  # a reference, which CloudFormation resolves
            scopes=["openid", "email", "profile"],
            attribute_request_method=cognito.OidcAttributeRequestMethod.GET,
            attribute_mapping=mapping,
        )
