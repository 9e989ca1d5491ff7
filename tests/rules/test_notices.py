"""Every package that Tessera runs with has a licence that it may use."""

from __future__ import annotations

import pytest

from tools.licences import is_allowed, select_conditional
from tools.notices import PAGE, build_page, list_page_packages, list_python_packages


def test_the_committed_notices_are_those_of_the_installed_packages() -> None:
    assert PAGE.read_text() == build_page(), "run: make notices"


def test_packages_of_each_place_are_listed() -> None:
    places = {row[0]: row[3] for row in list_python_packages()}
    assert places["torch"] == "laptop, worker"
    assert places["openslide-bin"] == "laptop, functions, worker"
    assert places["triton"] == "laptop"
    assert "pytest" not in places
    assert "openseadragon" in {row[0] for row in list_page_packages()}


@pytest.mark.parametrize(
    "licence",
    ["MIT", "Apache-2.0 WITH LLVM-exception AND MIT", "MIT AND (GPL-2.0-only OR BSD-3-Clause)", "GPL-3.0-only OR MIT"],
)
def test_licences_that_can_be_met_are_allowed(licence: str) -> None:
    assert is_allowed(licence)


@pytest.mark.parametrize(
    "licence",
    [
        *("", "GPL-3.0-only", "AGPL-3.0-or-later", "CC-BY-NC-4.0", "Dual License", "MIT AND GPL-2.0-only"),
        *("MIT AND (GPL-2.0-only OR CC-BY-NC-4.0)", "MIT AND", "(MIT", "MIT)"),
    ],
)
def test_other_licences_are_refused(licence: str) -> None:
    assert not is_allowed(licence)


def test_conditions_are_named() -> None:
    assert select_conditional("LGPL-3.0-only AND (MIT OR MPL-2.0)") == {"LGPL-3.0-only", "MPL-2.0"}
