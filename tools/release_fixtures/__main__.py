"""`python -m tools.release_fixtures [COMMIT]`: it makes the fixtures of the last release anew. A COMMIT, or tag, is the
last release from then on."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.release_fixtures.checkout import (
    LAST_RELEASE,
    CommitMissing,
    make_command,
    open_worktree,
    read_last_release,
    resolve_commit,
)

FIXTURES = LAST_RELEASE.parent / "release"
CAPTURE = Path(__file__).with_name("capture.py")
MOST_BYTES = 300_000  #: in the repository, for each release anew


def main() -> None:
    try:
        commit = resolve_commit(sys.argv[1] if len(sys.argv) > 1 else read_last_release())
    except CommitMissing as error:
        sys.exit(str(error))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "fixtures"
        made.mkdir()
        with open_worktree(commit, Path(folder) / "release") as worktree:
            command, environment = make_command(worktree, CAPTURE, str(made))
            if subprocess.run(command, cwd=worktree, env=environment, check=False).returncode:
                sys.exit(f"The release {commit[:12]} did not get through its work: nothing was changed.")
        size = sum(path.stat().st_size for path in made.rglob("*") if path.is_file())
        if size > MOST_BYTES:
            sys.exit(f"The fixtures have {size:,} bytes, more than {MOST_BYTES:,}: nothing was changed.")
        shutil.rmtree(FIXTURES, ignore_errors=True)
        shutil.copytree(made, FIXTURES)
    LAST_RELEASE.write_text(f"{commit}\n")
    sys.stdout.write(f"{FIXTURES}: {size:,} bytes of {commit}\n")


if __name__ == "__main__":
    main()
