"""`tessera restate` against a small real server."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner, Result

from tessera.cli import app
from tessera.local_run.inputs import UsageError
from tests.tessera.server import SLIDE, Installation, served

INSPECTED_AGAIN = [{"status": "UPLOADED"}] * 2
NO_SCALE = {"status": "REJECTED", "reason": "no_mpp", "sentence": "The file does not say its scale: state it (`mpp`)."}


def restate(installation: Installation, *arguments: object, slide: str = SLIDE) -> Result:
    with served(installation) as url:
        options = ["--api", url, "--api-key", "tsk_a_b", *map(str, arguments)]
        return CliRunner().invoke(app, ["restate", slide, *options])


def test_it_states_waits_for_inspection_and_prints_what_was_found() -> None:
    found = {"status": "READY", "inspection": {"mpp_x": 0.25}, "picture": 2}
    installation = Installation(looks=[*INSPECTED_AGAIN, found])
    result = restate(installation, "--mpp", 0.25, "--picture", 2)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"slide {SLIDE} READY: 0.25 µm per pixel, image 2\n"
    assert installation.restated == [{"mpp": 0.25, "picture": 2}]
    assert installation.calls == [f"PATCH /slides/{SLIDE}", *[f"GET /slides/{SLIDE}"] * 2]


def test_only_what_is_stated_is_sent_and_what_is_cleared_is_null() -> None:
    installation = Installation()
    assert restate(installation, "--optical-path", "H&E", "--clear", "mpp", "--clear", "focal-plane").exit_code == 0
    assert installation.restated == [{"optical_path": "H&E", "mpp": None, "focal_plane": None}]


def test_a_name_alone_waits_for_nothing() -> None:
    installation = Installation(looks=[{"status": "ARCHIVED"}])
    result = restate(installation, "--name", "Case 8")
    assert (result.exit_code, result.stdout) == (0, f"slide {SLIDE} ARCHIVED\n")
    assert installation.calls == [f"PATCH /slides/{SLIDE}"]


def test_a_slide_that_is_rejected_again_exits_3_with_the_reason_and_the_option() -> None:
    result = restate(Installation(looks=[*INSPECTED_AGAIN, NO_SCALE]), "--picture", 1)
    assert result.exit_code == 3
    said = "rejected (no_mpp): The file does not say its scale: state it (--mpp)."
    assert result.stderr.endswith(f"tessera: {SLIDE}: {said}\n")


def test_a_refusal_exits_4_with_its_sentence() -> None:
    result = restate(Installation(conflict="A job is running on this slide."), "--mpp", 0.5)
    assert (result.exit_code, result.stderr) == (4, f"tessera: {SLIDE}: A job is running on this slide.\n")


def test_an_unknown_slide_exits_4() -> None:
    assert restate(Installation(), "--mpp", 0.5, slide="other").exit_code == 4


def test_a_lost_answer_is_asked_for_again() -> None:
    installation = Installation(fail_calls={f"PATCH /slides/{SLIDE}": 1})
    assert restate(installation, "--mpp", 0.5).exit_code == 0
    assert installation.restated == [{"mpp": 0.5}]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "state --mpp, --optical-path"),
        (("--mpp", 0.5, "--clear", "mpp"), "--mpp states a value and --clear mpp takes it back"),
        (("--focal-plane", 2, "--clear", "focal-plane"), "--focal-plane states a value"),
    ],
)
def test_a_call_that_states_nothing_or_two_things_sends_nothing(arguments: tuple[object, ...], said: str) -> None:
    installation = Installation()
    result = restate(installation, *arguments)
    assert isinstance(result.exception, UsageError)
    assert said in str(result.exception)
    assert installation.calls == []


@pytest.mark.parametrize("arguments", [("--picture", 0), ("--mpp", 0), ("--focal-plane", 1.5), ("--clear", "name")])
def test_what_can_not_be_stated_is_a_wrong_call(arguments: tuple[object, ...]) -> None:
    assert restate(Installation(), *arguments).exit_code == 2
