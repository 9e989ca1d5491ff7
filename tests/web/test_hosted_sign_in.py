"""The way people sign in on AWS, here at the hosted page that the emulator has: the code grant with PKCE, really."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Route, expect

pytestmark = pytest.mark.stack


@pytest.fixture
def hosted(person, stack):
    """The page as a deployment configures it, and an app client that lets it in."""
    found = stack.clients.cognito
    pool = stack.addresses.issuer.rsplit("/", 1)[-1]
    found.update_user_pool_client(
        UserPoolId=pool,
        ClientId=stack.addresses.client_id,
        ExplicitAuthFlows=["ALLOW_USER_PASSWORD_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"],
        SupportedIdentityProviders=["COGNITO"],
        CallbackURLs=[f"{person.origin}/"],
        LogoutURLs=[f"{person.origin}/"],
        AllowedOAuthFlows=["code"],
        AllowedOAuthScopes=["openid", "email"],
        AllowedOAuthFlowsUserPoolClient=True,
    )

    def without_password(route: Route) -> None:
        config = route.fetch().json()
        route.fulfill(body=json.dumps({key: value for key, value in config.items() if key != "signIn"}))

    person.page.route("**/config.json", without_password)
    return person


def test_somebody_signs_in_at_the_hosted_page_and_comes_back_to_where_they_were(hosted, stack):
    page = hosted.page
    analyst = next(user for user in stack.access.users if user.email == "analyst@first.example")
    page.goto(f"{hosted.origin}/slides?q=prostate")
    page.get_by_role("heading", name="Sign in to Tessera").wait_for()
    assert hosted.violations() == []
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{stack.ministack.url}/**")
    page.locator("input[name=username]").fill(analyst.email)
    page.locator("input[name=password]").fill(analyst.password)
    page.locator("[type=submit]").click()
    expect(page.get_by_text("analyst@first.example · analyst")).to_be_visible()
    assert page.url == f"{hosted.origin}/slides?q=prostate"
    page.reload()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    assert hosted.complaints == []
