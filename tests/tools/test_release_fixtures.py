"""The last release: which commit it is, and what is kept of it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tools.release_fixtures.__main__ import FIXTURES, MOST_BYTES
from tools.release_fixtures.checkout import (
    ROOT,
    CommitMissing,
    make_command,
    open_worktree,
    read_last_release,
    resolve_commit,
)


def test_the_last_release_is_the_full_id_of_a_commit() -> None:
    assert re.fullmatch("[0-9a-f]{40}", read_last_release())


def test_the_fixtures_stay_small() -> None:
    assert 0 < sum(path.stat().st_size for path in FIXTURES.rglob("*") if path.is_file()) <= MOST_BYTES


def test_a_commit_that_the_history_lacks_is_named_with_the_command_that_fetches_it() -> None:
    with pytest.raises(CommitMissing, match=r"Commit 000000000000 is not in the history here: `git fetch --unshallow`"):
        resolve_commit("0" * 40)


def test_a_script_runs_with_the_modules_of_its_worktree_which_is_removed_afterwards(tmp_path: Path) -> None:
    try:
        commit = resolve_commit("HEAD")
    except CommitMissing as error:
        pytest.skip(str(error))
    script = tmp_path / "script.py"
    script.write_text("import wsi, gpu_worker; print(wsi.__file__, gpu_worker.__file__)")
    with open_worktree(commit, tmp_path / "files") as worktree:
        command, environment = make_command(worktree, script)
        done = subprocess.run(command, env=environment, cwd=worktree, capture_output=True, text=True, check=True)
        assert all(path.startswith(f"{worktree}/") for path in done.stdout.split())
    assert not worktree.exists()
    listed = subprocess.run(["git", "worktree", "list"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert str(worktree) not in listed
