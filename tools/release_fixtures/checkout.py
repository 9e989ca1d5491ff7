"""The last release: its commit, and its files next to today's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The commit of the last release. Tests read it; `python -m tools.release_fixtures COMMIT` moves it.
LAST_RELEASE = ROOT / "tests/upgrades/last_release.txt"
#: What stacks need besides the files of a commit; none of it depends on the commit.
_INSTALLED = (".venv-ministack", ".tools")


class CommitMissing(Exception):
    """The history of this checkout does not hold a commit. The text says how to fetch it."""


def read_last_release() -> str:
    """Return the full id of the last release's commit."""
    return LAST_RELEASE.read_text().strip()


def resolve_commit(name: str) -> str:
    """Return the full id of a commit, by its id or tag. Raises CommitMissing."""
    found = _git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if found is None:
        raise CommitMissing(
            f"Commit {name[:12]} is not in the history here: `git fetch --unshallow` fetches it into a shallow clone, "
            "and an archive of the source holds no history."
        )
    return found


@contextmanager
def open_worktree(commit: str, folder: Path) -> Generator[Path]:
    """Check the commit's files out into `folder`, a new one, and remove them at the end. Raises CommitMissing."""
    commit = resolve_commit(commit)
    subprocess.run(
        ["git", "-C", str(ROOT), "worktree", "add", "--quiet", "--detach", str(folder), commit],
        check=True,
        capture_output=True,
    )
    try:
        for name in _INSTALLED:
            if (ROOT / name).exists() and not (folder / name).exists():
                (folder / name).symlink_to((ROOT / name).resolve())
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _git("worktree", "prune")


def make_command(worktree: Path, script: Path, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """Return the command that runs a script of ours with the modules of `worktree`, and its environment."""
    # -P keeps the script's own folder, and with it today's modules, out of the path.
    command = [sys.executable, "-P", str(script), *arguments]
    return command, {**os.environ, "PYTHONPATH": str(worktree)}


def _git(*arguments: str) -> str | None:
    """Return what git prints, or None if it fails or there is none."""
    git = shutil.which("git")
    if git is None:
        return None
    done = subprocess.run([git, "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None
