"""The generated pages of docs/reference are those of the code."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from adapters.settings.environment import Environment
from cdk.deployment import Deployment
from tools.reference import settings
from tools.reference.comments import read_field_comments
from tools.reference.pages import DOCS, generate_files


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    return generate_files()


def test_the_committed_pages_are_the_generated_ones(pages: Mapping[str, str]) -> None:
    stale = [name for name, text in pages.items() if (DOCS / name).read_text() != text]
    assert stale == [], "run: make reference"


@pytest.mark.parametrize("described", [Deployment, *settings.list_shared_groups(), *settings.list_process_settings()])
def test_every_setting_says_what_it_means(described: type[Deployment] | type[Environment]) -> None:
    assert [name for name, comment in read_field_comments(described).items() if not comment] == []


def test_comments_above_and_behind_a_field_are_joined() -> None:
    class Described:
        #: Above,
        #: on two lines.
        first: int = 0  #: Behind.
        second: str = ""
        third: tuple[int, ...] = (  #: Not here.
            1,
        )  #: At its end.

    assert read_field_comments(Described) == {
        "first": "Above, on two lines. Behind.",
        "second": "",
        "third": "At its end.",
    }


def test_every_command_and_every_process_has_a_section(pages: Mapping[str, str]) -> None:
    for command in ("run", "inspect", "submit", "watch", "models add"):
        assert f"\n## tessera {command}\n" in pages["reference/cli.md"]
    assert {"ApiSettings", "SlideJobSettings", "WorkerSettings"} <= {
        one.__name__ for one in settings.list_process_settings()
    }
