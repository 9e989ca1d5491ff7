"""No file grows past what one can hold in mind."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT = 400
GENERATED = "web/src/api/generated/"


def is_ours(name: str) -> bool:
    return (ROOT / name).exists() and not name.startswith(GENERATED)


def test_no_source_file_is_longer_than_400_lines() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "*.py", "*.js", "*.mjs", "*.ts", "*.tsx", "*.sql"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    lengths = {name: len((ROOT / name).read_text().splitlines()) for name in tracked if is_ours(name)}
    assert lengths, "no source file found"
    assert {name: length for name, length in lengths.items() if length > LIMIT} == {}
