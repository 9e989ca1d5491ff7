"""The built page in Debian's chromium, on the embedded stack. Where a part is missing these tests are skipped, or fail
if it is required (tests/prerequisites.py).

Playwright's event loop runs in the main thread for as long as it is started: it ends with this package's tests, so
that others can run theirs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from local.options import StackOptions
from local.stack import Stack
from tests.prerequisites import BROWSER, EMULATOR, NODE, PAGE, find_chromium
from tests.stack.lab import Lab
from tests.web.person import Person
from wsi.records.identity import Role

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
SIZE = {"width": 1280, "height": 800}
PATIENCE = 20_000  #: ms; nothing waits that long unless the machine has other work, as where several suites run
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    BROWSER.require()
    PAGE.require()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    EMULATOR.require()
    NODE.require()
    stack = Stack(tmp_path_factory.mktemp("stack"), StackOptions(workers=1, durable=False))
    stack.start()
    yield stack
    stack.stop()


@pytest.fixture(scope="package")
def lab(stack: Stack) -> Iterator[Lab]:
    """What the API knows of the first tenant, for setting the scene."""
    lab = Lab(stack)
    yield lab
    lab.transport.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Of a fresh browser: no session, no theme."""
    context = browser.new_context(viewport=SIZE)
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


@pytest.fixture
def person(page: Page, stack: Stack) -> Person:
    """In front of the page, signed in nowhere. At the end of the test the browser must have had nothing to say."""
    return Person(page=page, origin=stack.as_json()["page_url"].rstrip("/"), users=stack.access.users)


@pytest.fixture
def analyst(person: Person) -> Iterator[Person]:
    """Signed in as the analyst of the first tenant."""
    person.sign_in(Role.ANALYST)
    yield person
    assert person.complaints == []


@pytest.fixture
def start_worker(lab: Lab) -> Iterator[Callable[[], None]]:
    """Nobody works until it is called: then one that reports often. The stack's own is back after the test."""
    workers = lab.stack.workers
    workers.stop_all()

    def start() -> None:
        workers.start(checkpoint_batches=2, checkpoint_seconds=1.0, decode_workers=1)

    yield start
    workers.stop_all()
    workers.start()


@pytest.fixture
def hosted(person: Person, stack: Stack) -> Person:
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
