"""The tables of docs/reference/platforms.md, which `make platforms` rewrites: the systems and Pythons for which the
package index has wheels of all that `tessera-wsi` needs.

uv resolves the requirements for each of them, wheels only, and downloads nothing but metadata. A missing package has
the name that uv gives it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/platforms.md"
MARK = "<!-- make platforms writes what follows -->"
PLATFORMS = {
    "Windows, x86-64": "x86_64-pc-windows-msvc",
    "macOS 14, Apple silicon": "aarch64-apple-darwin",
    "Linux, x86-64": "x86_64-unknown-linux-gnu",
    "Linux, arm64": "aarch64-unknown-linux-gnu",
}
#: Torch and ONNX Runtime have no wheels for an older one.
MACOS = "14.0"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
EXTRAS = {"tessera-wsi": "run", "tessera-wsi[models]": "torch", "tessera-wsi[onnx]": "onnx"}
_MISSING = re.compile(r"Because (?:only )?([\w.-]+)")


def find_missing(requirements: str, platform: str, python: str, *, pinned: bool) -> str | None:
    """Return the package without a wheel (uv's last line if it names none), or None if all have one. Raises
    RuntimeError if no index answers."""
    command = [
        *(str(Path(sys.executable).with_name("uv")), "pip", "compile", "--quiet", "--no-header"),
        *("--python-version", python, "--python-platform", platform, "--only-binary", ":all:"),
        *(("--constraints", str(ROOT / "constraints.txt")) if pinned else ()),
        str(ROOT / f"requirements/{requirements}.txt"),
    ]
    environ = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": MACOS}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    if not done.returncode:
        return None
    if "(Connect)" in done.stderr:
        raise RuntimeError("the package index cannot be reached")
    found = _MISSING.search(done.stderr)
    return found[1] if found else done.stderr.strip().splitlines()[-1]


def build_table(*, pinned: bool) -> Iterator[str]:
    yield f"| | {' | '.join(PYTHONS)} |"
    yield f"|---|{'---|' * len(PYTHONS)}"
    with ThreadPoolExecutor(len(PYTHONS)) as pool:  # its threads wait for the index
        for extra, requirements in EXTRAS.items():
            for title, platform in PLATFORMS.items():
                ask = partial(find_missing, requirements, platform, pinned=pinned)
                cells = [found or "all" for found in pool.map(ask, PYTHONS)]
                yield f"| `{extra}`, {title} | {' | '.join(cells)} |"


def build_sections() -> Iterator[str]:
    yield from ("", "### In the versions of constraints.txt", "")
    yield from build_table(pinned=True)
    yield from ("", "### In the newest versions within the wheel's ranges", "")
    yield from build_table(pinned=False)


def main() -> None:
    prose, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        sys.exit(f"{PAGE} has no line {MARK}")
    PAGE.write_text(f"{prose}{mark}\n" + "\n".join(build_sections()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
