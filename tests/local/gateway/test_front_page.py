"""What a person sees who opens the stack's address."""

from __future__ import annotations

import json
from pathlib import Path

from local.gateway.front_page import POLICY, render_front_page

OPENAPI = json.loads((Path(__file__).parents[3] / "docs/openapi.json").read_text())


def test_the_page_names_every_address_and_every_route():
    page = render_front_page({"API": "http://127.0.0.1:1/api", "Subscriptions": "ws://127.0.0.1:2/graphql"}, OPENAPI)
    assert "<a href='http://127.0.0.1:1/api'>" in page
    assert "ws://127.0.0.1:2/graphql" in page
    for path in OPENAPI["paths"]:
        assert path in page


def test_what_stands_in_the_page_is_escaped():
    page = render_front_page({"<script>": "http://x/?a=<b>&c='d'"}, {"paths": {}})
    assert "<script>" not in page
    assert "<b>" not in page
    assert "'d'" not in page


def test_the_page_may_load_and_run_nothing():
    assert POLICY.startswith("default-src 'none'")
    assert "unsafe" not in POLICY
