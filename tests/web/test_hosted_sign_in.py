"""The way people sign in on AWS, here at the hosted page that the emulator has: the code grant with PKCE, really."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Route, expect

from tests.web.person import sign_in_where_hosted

pytestmark = pytest.mark.stack


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


def test_who_signs_out_has_left_the_hosted_page_too(hosted, stack):
    page, revoked = hosted.page, []

    def revoke(route: Route) -> None:  # the emulator has no such address
        revoked.append(parse_qs(route.request.post_data)["token"])
        route.fulfill(status=200, headers={"Access-Control-Allow-Origin": "*"})

    page.route(f"{stack.ministack.url}/oauth2/revoke", revoke)
    analyst = next(user for user in stack.access.users if user.email == "analyst@first.example")
    page.goto(f"{hosted.origin}/slides")
    sign_in_where_hosted(page, stack, analyst)
    refresh = page.evaluate("JSON.parse(sessionStorage.getItem('tessera.tokens')).refresh")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in to Tessera").wait_for()
    page.wait_for_url(f"{hosted.origin}/")
    assert revoked == [[refresh]]
    assert page.evaluate("sessionStorage.length") == 0
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{stack.ministack.url}/**")
    page.locator("input[name=password]").wait_for()  # it does not let the next person in as the last one
    assert hosted.complaints == []
