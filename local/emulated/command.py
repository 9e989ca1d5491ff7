"""The command `tessera`, as a user runs it against what was deployed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND_SECONDS = 120.0


def run_tessera(*arguments: str, key: str) -> subprocess.CompletedProcess[str]:
    """Run the `tessera` command as a user does. A command that hangs is killed and returns -1, so that the checks that
    follow show where it hung."""
    command = [sys.executable, "-m", "tessera", *arguments]
    environ = {**os.environ, "TESSERA_API_KEY": key}
    try:
        return subprocess.run(
            command, env=environ, cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "", f"It did not end within {COMMAND_SECONDS:.0f} s.")


def describe_exit(done: subprocess.CompletedProcess[str]) -> str:
    return f"exit {done.returncode}; {done.stderr.strip()[-500:]}"
