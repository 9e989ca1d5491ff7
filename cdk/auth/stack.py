"""Authentication: people in Cognito, keys in our table, one authorizer for the REST API and for AppSync."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from adapters.settings import processes
from adapters.settings.database_roles import API_ROLE
from cdk.auth.provider import GROUPS, Provider
from cdk.bundling import AssetKind
from cdk.data.stack import DataStack
from cdk.deployment import Deployment
from cdk.network.stack import NetworkStack
from cdk.python_function import PythonFunction

#: How long the gateway may keep an answer of the authorizer: a revoked key works no longer than this (F-37).
ANSWER_SECONDS = 60
DEVELOPMENT_ORIGIN = "http://localhost:5173"  #: where Vite serves the page to its developers


class AuthStack(cdk.Stack):
    """`pool` and `client` (of the page), `issuer`, `sign_in_url` (the hosted page), `authorizer`.

    A stack that uses the authorizer allows the call by a role or permission of its own: one made here would refer back
    to that stack.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        data: DataStack,
        env: cdk.Environment,
    ) -> None:
        super().__init__(scope, id, env=env)
        self.pool = cognito.UserPool(
            self,
            "Users",
            self_sign_up_enabled=False,  # an admin of the installation adds people
            sign_in_aliases=cognito.SignInAliases(email=True),
            # Of everybody, since Cognito demands it before it issues a token; of one role alone we could only refuse
            # tokens that it has issued. People of single sign-on have theirs at their provider.
            mfa=cognito.Mfa.REQUIRED
            if deployment.demands_second_factor and not deployment.emulated
            else cognito.Mfa.OPTIONAL,
            mfa_second_factor=cognito.MfaSecondFactor(sms=False, otp=True),
            password_policy=cognito.PasswordPolicy(
                min_length=12,
                require_lowercase=True,
                require_uppercase=True,
                require_digits=True,
                require_symbols=True,
                temp_password_validity=cdk.Duration.days(3),
            ),
            custom_attributes={GROUPS: cognito.StringAttribute(max_len=2048, mutable=True)},
            account_recovery=cognito.AccountRecovery.EMAIL_ONLY,
            feature_plan=cognito.FeaturePlan.PLUS,
            standard_threat_protection_mode=cognito.StandardThreatProtectionMode.FULL_FUNCTION,
            deletion_protection=deployment.keeps_data,
            removal_policy=cdk.RemovalPolicy.RETAIN if deployment.keeps_data else cdk.RemovalPolicy.DESTROY,
        )
        self._provider = (
            Provider(self, "SignOn", deployment=deployment, sign_on=deployment.sign_on, pool=self.pool, network=network)
            if deployment.sign_on
            else None
        )
        self.client = self._page_client(deployment)
        self.sign_in_url = self._add_hosted_page(deployment)
        self.issuer = f"https://cognito-idp.{self.region}.amazonaws.com/{self.pool.user_pool_id}"
        self.authorizer = PythonFunction(
            self,
            "Authorizer",
            deployment=deployment,
            name="authorizer",
            asset=AssetKind.API,
            network=network,
            log_key=network.log_key,
            memory_mib=512,
            settings=processes.AuthorizerSettings(
                region=self.region,
                database_dsn=data.database.make_dsn(API_ROLE),
                database_iam=True,
                issuer=self.issuer,
                jwks_url=f"{self.issuer}/.well-known/jwks.json",
                client_id=self.client.user_pool_client_id,
            ),
        )
        data.database.grant_connect(self.authorizer, API_ROLE)
        self.authorizer.node.add_dependency(data.migrations)
        cdk.CfnOutput(self, "UserPoolId", value=self.pool.user_pool_id)
        cdk.CfnOutput(self, "ClientId", value=self.client.user_pool_client_id)
        cdk.CfnOutput(self, "Issuer", value=self.issuer)
        if self._provider is not None:
            cdk.CfnOutput(self, "SignOnEntityId", value=f"urn:amazon:cognito:sp:{self.pool.user_pool_id}")
            cdk.CfnOutput(self, "SignOnAnswerUrl", value=f"{self.sign_in_url}{self._provider.answer_path}")

    def _page_client(self, deployment: Deployment) -> cognito.UserPoolClient:
        """Make the client without a secret, which a page could not protect: the code grant with PKCE; SRP for command
        lines."""
        origins = [*deployment.origins, *([] if deployment.keeps_data else [DEVELOPMENT_ORIGIN])]
        pages = [f"{origin}/" for origin in origins]
        providers = [cognito.UserPoolClientIdentityProvider.COGNITO]
        written = cognito.ClientAttributes().with_standard_attributes(email=True)
        if self._provider is not None:
            providers.append(self._provider.client_provider)
            written = written.with_custom_attributes(GROUPS)  # Cognito writes it as this client
        client = self.pool.add_client(
            "Page",
            generate_secret=False,
            auth_flows=cognito.AuthFlow(user_srp=True),
            prevent_user_existence_errors=True,
            enable_token_revocation=True,
            id_token_validity=cdk.Duration.hours(1),
            access_token_validity=cdk.Duration.hours(1),
            refresh_token_validity=cdk.Duration.days(1),
            supported_identity_providers=providers,
            write_attributes=written,
            disable_o_auth=not pages,
            o_auth=cognito.OAuthSettings(
                flows=cognito.OAuthFlows(authorization_code_grant=True),
                scopes=[cognito.OAuthScope.OPENID, cognito.OAuthScope.EMAIL],
                callback_urls=pages,
                logout_urls=pages,
            )
            if pages
            else None,
        )
        if self._provider is not None:
            client.node.add_dependency(self._provider.resource)
        return client

    def _add_hosted_page(self, deployment: Deployment) -> str:
        """Make the hosted page and return its URL. The account's number makes its prefix unique in the region."""
        prefix = f"{deployment.prefix}-{self.account}"
        self.pool.add_domain("SignIn", cognito_domain=cognito.CognitoDomainOptions(domain_prefix=prefix))
        return f"https://{prefix}.auth.{self.region}.amazoncognito.com"
