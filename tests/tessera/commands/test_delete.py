"""`tessera delete` and `tessera hold` against a small real server."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from tessera.cli import app
from tests.tessera.server import JOB, SLIDE, Installation, served


def run(installation: Installation, command: str, *arguments: str, answer: str | None = None) -> Result:
    with served(installation) as url:
        options = ["--api", url, "--api-key", "tsk_a_b"]
        return CliRunner().invoke(app, [command, *arguments, *options], input=answer)


def test_a_slide_is_deleted_after_a_question() -> None:
    installation = Installation()
    result = run(installation, "delete", SLIDE, answer="y\n")
    assert result.exit_code == 0
    assert result.stdout.endswith(f"{SLIDE} deleted\n")
    assert "Delete 1 slide for good?" in result.stderr
    assert installation.calls == [f"DELETE /slides/{SLIDE}"]


def test_nothing_is_deleted_without_a_yes() -> None:
    installation = Installation()
    assert run(installation, "delete", SLIDE, answer="n\n").exit_code == 1
    assert installation.calls == []


def test_jobs_are_deleted_by_their_ids_and_what_fails_keeps_no_other_from_it() -> None:
    installation = Installation()
    result = run(installation, "delete", "--jobs", "--yes", "unknown", JOB)
    assert (result.exit_code, result.stdout) == (4, f"{JOB} deleted\n")
    assert "unknown: " in result.stderr
    assert installation.calls[-1] == f"DELETE /jobs/{JOB}"


def test_a_refusal_says_why() -> None:
    held = "The slide is under legal hold."
    result = run(Installation(conflict=held), "delete", "--yes", SLIDE)
    assert (result.exit_code, result.stderr) == (4, f"tessera: {SLIDE}: {held}\n")


def test_a_hold_begins_and_ends() -> None:
    installation = Installation()
    assert run(installation, "hold", SLIDE).stdout == f"{SLIDE} under legal hold\n"
    assert run(installation, "hold", "--end", SLIDE).stdout == f"{SLIDE} may be deleted again\n"
    assert installation.held == [{"held": True}, {"held": False}]


def test_a_lost_answer_is_asked_for_again() -> None:
    installation = Installation(fail_calls={f"DELETE /slides/{SLIDE}": 1})
    assert run(installation, "delete", "--yes", SLIDE).exit_code == 0
