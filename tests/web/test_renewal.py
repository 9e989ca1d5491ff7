"""Tokens that live for seconds, in a real browser: renewed unnoticed, and at their end a way back to the same page."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page, Request, expect

from local.access import User
from local.stack import Stack
from tests.slides import write_svs
from tests.stack.lab import Lab
from tests.web.person import Person, sign_in_where_hosted
from tests.web.uploading import PARTS, Parts, choose, padded, row, wait_for

pytestmark = pytest.mark.stack

LIFE = 8  #: s that an access token is good for; the page renews it after half of them
LEEWAY = 10  #: s that the authorizer grants the issuer's clock
PUSHES = re.compile(r"/graphql/realtime$")


@pytest.fixture
def short_lived(stack: Stack) -> Iterator[None]:
    """Access tokens of the app client live for seconds, as on AWS they live for an hour."""
    client = {
        "UserPoolId": stack.addresses.issuer.rsplit("/", 1)[-1],
        "ClientId": stack.addresses.client_id,
        "AccessTokenValidity": LIFE,
    }
    stack.clients.cognito.update_user_pool_client(**client, TokenValidityUnits={"AccessToken": "seconds"})
    yield
    stack.clients.cognito.update_user_pool_client(**client | {"AccessTokenValidity": 1}, TokenValidityUnits={})


class Renewals:
    """What the page asks of the issuer's token address, by the grant."""

    def __init__(self, page: Page) -> None:
        self.at: list[float] = []
        page.on("request", self._see)

    def _see(self, request: Request) -> None:
        if request.url.endswith("/oauth2/token"):
            form = parse_qs(request.post_data or "")
            if form["grant_type"] == ["refresh_token"]:
                self.at.append(time.monotonic())


def sign_in_at_hosted(person: Person, stack: Stack, path: str) -> User:
    user = next(user for user in stack.access.users if user.email == "analyst@first.example")
    person.page.goto(person.origin + path)
    sign_in_where_hosted(person.page, stack, user)
    return user


@pytest.fixture(scope="module")
def slides(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Six with pictures, so that a list of them asks for much at once."""
    folder = tmp_path_factory.mktemp("renewal")
    return [
        lab.upload(write_svs(folder / f"renewal-{seed}.svs", width=1024, height=1024, seed=seed)).slide_id
        for seed in range(6)
    ]


def test_many_requests_at_once_renew_once(hosted: Person, stack: Stack, slides: list[str], short_lived: None) -> None:
    page, renewals, refused = hosted.page, Renewals(hosted.page), list[str]()
    page.on("response", lambda answer: refused.append(answer.url) if answer.status == 401 else None)
    sign_in_at_hosted(hosted, stack, "/slides?q=renewal")
    expect(page.locator("td img")).to_have_count(len(slides))
    page.wait_for_timeout(LIFE * 1000)
    before, begun = len(renewals.at), len(hosted.requests)
    page.reload()
    expect(page.locator("td img")).to_have_count(len(slides))
    asked = [url for url in hosted.requests[begun:] if "/api/v1/wsi/" in url]
    assert len(asked) >= len(slides) + 2
    assert len(renewals.at) == before + 1
    assert refused == [], "it was renewed before anybody noticed"
    assert hosted.complaints == []


def test_a_subscription_outlives_the_token_that_it_began_with(
    hosted: Person, stack: Stack, lab: Lab, slides: list[str], short_lived: None, start_worker: Callable[[], None]
) -> None:
    page, renewals = hosted.page, Renewals(hosted.page)
    job = lab.api.submit_job(slides[0], "stain-density", idempotency_key="renewal-live", force=True)
    connections: list[str] = []
    pushed: list[str] = []

    def hear(socket) -> None:
        connections.append(socket.url)
        socket.on("framereceived", lambda frame: pushed.append(str(frame)))

    page.on("websocket", hear)
    sign_in_at_hosted(hosted, stack, f"/jobs/{job.job_id}")
    live = page.get_by_text("Live", exact=True)
    expect(live).to_be_visible()
    begun = time.monotonic()
    wait_for(page, lambda: time.monotonic() - begun > LIFE + LEEWAY + 3)
    expect(live).to_be_visible()
    start_worker()
    expect(page.get_by_role("region", name="Progress").get_by_text("Completed", exact=True).first).to_be_visible(
        timeout=60_000
    )
    assert len(connections) == 1
    assert any('"COMPLETED"' in frame for frame in pushed)
    assert renewals.at, "what was asked after the end was asked with a new token"
    assert hosted.complaints == []


def test_an_upload_that_takes_longer_than_many_tokens_comes_to_its_end(
    hosted: Person, stack: Stack, short_lived: None, tmp_path: Path
) -> None:
    page, renewals = hosted.page, Renewals(hosted.page)
    source = write_svs(tmp_path / "small.svs", width=1024, height=1024, seed=77)
    slide = padded(source, tmp_path / "long-upload.svs")
    sign_in_at_hosted(hosted, stack, "/upload")
    parts = Parts(page, last=0)
    choose(page, slide)
    for last in range(2, PARTS + 1, 2):
        page.wait_for_timeout(LIFE * 500)
        parts.last = last
        parts.let_go()  # and is asked for again
        wait_for(page, lambda last=last: {last - 1, last} <= set(parts.sent))
    expect(row(page, slide.name)).to_contain_text("Ready", timeout=60_000)
    assert len(renewals.at) >= 3
    hosted.complaints[:] = [told for told in hosted.complaints if "ERR_FAILED" not in told]  # what we broke off
    assert hosted.complaints == []


def test_who_may_not_renew_signs_in_again_and_comes_back_to_the_same_place(
    hosted: Person, stack: Stack, slides: list[str], short_lived: None
) -> None:
    page = hosted.page
    user = sign_in_at_hosted(hosted, stack, "/slides?q=renewal")
    expect(page.locator("td img")).to_have_count(len(slides))
    page.get_by_role("link", name="renewal-3.svs").click()
    page.get_by_role("heading", level=1, name="renewal-3.svs").wait_for()
    page.wait_for_load_state("networkidle")  # a renewal on its way would come back with a session of its own
    pool = stack.addresses.issuer.rsplit("/", 1)[-1]
    stack.clients.cognito.admin_user_global_sign_out(UserPoolId=pool, Username=user.email)
    page.wait_for_timeout(LIFE * 1000)
    place = page.url
    page.get_by_role("link", name="Jobs", exact=True).click()
    expect(page.get_by_role("alert")).to_have_text("Your session has ended. Sign in again.")
    assert hosted.violations() == []
    assert page.evaluate("sessionStorage.getItem('tessera.tokens')") is None
    page.go_back()
    assert page.url == place
    sign_in_where_hosted(page, stack, user)
    expect(page.get_by_role("heading", level=1, name="renewal-3.svs")).to_be_visible()
    assert page.url == place


def test_an_upload_that_a_session_left_unfinished_goes_on_after_signing_in_again(
    hosted: Person, stack: Stack, short_lived: None, tmp_path: Path
) -> None:
    page = hosted.page
    slide = padded(write_svs(tmp_path / "small.svs", width=1024, height=1024, seed=78), tmp_path / "left-behind.svs")
    user = sign_in_at_hosted(hosted, stack, "/upload")
    parts = Parts(page, last=2)
    choose(page, slide)
    wait_for(page, lambda: sorted(parts.sent) == [1, 2])
    stack.clients.cognito.admin_user_global_sign_out(
        UserPoolId=stack.addresses.issuer.rsplit("/", 1)[-1], Username=user.email
    )
    page.wait_for_timeout(LIFE * 1000)
    parts.let_go()
    expect(page.get_by_role("alert")).to_have_text("Your session has ended. Sign in again.")
    sign_in_where_hosted(page, stack, user)
    expect(page.get_by_text("33.6 MB of 84.9 MB have arrived")).to_be_visible()
    parts.sent.clear()
    parts.last = PARTS
    choose(page, slide)
    expect(row(page, slide.name)).to_contain_text("Ready", timeout=60_000)
    assert set(parts.sent) == {3, 4, 5, 6}
