"""Somebody in front of the page: what they do, and what the browser has to say about it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import ConsoleMessage, Page, Request

from local.access import User
from local.stack import Stack
from wsi.records.identity import Role

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


class Person:
    def __init__(self, *, page: Page, origin: str, users: Sequence[User]) -> None:
        self.page = page
        self.origin = origin
        self.complaints: list[str] = []  #: errors and warnings on the console, and what was thrown
        self.requests: list[str] = []
        self._users = users
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._see)

    def sign_in(self, role: Role, *, tenant: str = "first", path: str = "/") -> None:
        user = next(user for user in self._users if user.role is role and user.tenant == tenant)
        self.page.goto(self.origin + path)
        self.page.get_by_label("E-mail address").fill(user.email)
        self.page.get_by_label("Password").fill(user.password)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("button", name="Sign out").wait_for()

    def violations(self) -> list[str]:
        """Of WCAG 2.2 AA on what is shown, as axe finds them. Evaluated by the debugger: the page's own policy would
        refuse a script of ours."""
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("tags => axe.run({runOnly: tags})", TAGS)
        return [
            f"{violation['id']}: {node['html']} {node['failureSummary']}"
            for violation in found["violations"]
            for node in violation["nodes"]
        ]

    def look(self, name: str) -> None:
        """A picture for docs/images, renewed where UPDATE_IMAGES is set: pixels differ from machine to machine."""
        if os.environ.get("UPDATE_IMAGES"):
            IMAGES.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=IMAGES / f"{name}.png", animations="disabled")

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} ({message.location})")

    def _see(self, request: Request) -> None:
        self.requests.append(request.url)


def sign_in_where_hosted(page: Page, stack: Stack, user: User) -> None:
    """From our page through that of the identity provider, and back."""
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{stack.ministack.url}/**")
    page.locator("input[name=username]").fill(user.email)
    page.locator("input[name=password]").fill(user.password)
    page.locator("[type=submit]").click()
    page.get_by_role("button", name="Sign out").wait_for()
