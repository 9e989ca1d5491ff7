"""cloudformation-validate: the schemas of all resource types, warnings included."""

from __future__ import annotations

import pytest

from tests.cdk.findings import found_by_validate, unacknowledged
from tests.cdk.templates import Templates


@pytest.fixture(params=["dev", "prod", "furnished"])
def templates(request: pytest.FixtureRequest) -> Templates:
    return request.getfixturevalue(request.param)


def test_cloudformation_validate_finds_nothing(templates: Templates) -> None:
    found = unacknowledged(found_by_validate(templates))
    assert not found, "\n".join(found)
