"""An admin invites a person, who signs in, and makes a key that works."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import expect

from wsi.records.identity import Role

pytestmark = pytest.mark.stack

NEW = "eve@first.example"


def test_an_admin_invites_disables_and_makes_a_key(person, stack):
    page = person.page
    person.sign_in(Role.ADMIN)
    page.get_by_role("link", name="People").click()
    expect(page.get_by_role("row", name="analyst@first.example")).to_be_visible()
    assert person.violations() == []

    page.get_by_role("button", name="Invite a person").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("E-mail address").fill(NEW)
    dialog.get_by_label("Role").select_option("analyst")
    assert person.violations() == []
    dialog.get_by_role("button", name="Invite", exact=True).click()
    password = dialog.locator("code").inner_text()
    dialog.get_by_role("button", name="Done").click()
    expect(page.get_by_role("row", name=NEW)).to_be_visible()

    page.get_by_role("button", name="New key").click()
    dialog.get_by_label("Name").fill("scanner")
    dialog.get_by_role("button", name="Make the key").click()
    key = dialog.locator("code").inner_text()
    assert person.violations() == []
    dialog.get_by_role("button", name="Done").click()
    expect(page.get_by_role("row", name="scanner")).to_contain_text("never")
    said = httpx.get(f"{stack.api_url}/me", headers={"Authorization": f"Bearer {key}"}).json()
    assert (said["name"], said["role"]) == ("scanner", "viewer")
    person.look("people")

    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("E-mail address").fill(NEW)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text(f"{NEW} · analyst")).to_be_visible()
    expect(page.get_by_role("link", name="People")).to_have_count(0)
    assert person.complaints == []
