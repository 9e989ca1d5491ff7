from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.release_fixtures.checkout import CommitMissing, open_worktree, read_last_release, resolve_commit


@pytest.fixture(scope="package")
def worktree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files of the last release."""
    try:
        commit = resolve_commit(read_last_release())
    except CommitMissing as error:
        pytest.skip(str(error))
    with open_worktree(commit, tmp_path_factory.mktemp("release") / "files") as folder:
        yield folder
