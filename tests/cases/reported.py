"""Marks a test with the public reports that it rebuilds, so that its id names them."""

from __future__ import annotations

import pytest


def reported(*sources: str) -> pytest.MarkDecorator:
    """Name the reports in the test's id: `test_edge[qupath#820, FAST-Pathology#76]`."""
    return pytest.mark.parametrize((), [pytest.param(id=", ".join(sources))])
