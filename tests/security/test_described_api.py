"""Requests that the OpenAPI document allows, and requests that it forbids, at the real handlers and a real Postgres."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.security.described_api import Asked, judge, list_operations, make_requests_to
from tests.security.two_tenants import TwoTenants

OPERATIONS = list_operations()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{one.method}-{one.path}")
def test_every_answer_is_described_and_every_error_is_a_problem(operation: Any, tenants: TwoTenants) -> None:
    @settings(
        max_examples=25,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(asked=make_requests_to(operation, tenants.first.ids), is_first=st.booleans())
    def check(asked: Asked, is_first: bool) -> None:
        actor = tenants.first.actor if is_first else tenants.second.actor
        judge(asked, tenants.ask(actor, asked.route[0], asked.path, query=asked.query, body=asked.body))

    check()
