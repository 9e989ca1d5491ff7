"""gpu_worker/locks: all packages of the worker's image, each with its version and the hashes of its files. There is a
file for each layer of the image.

    python -m tools.worker_lock           writes them from gpu_worker/requirements.txt and constraints.txt
    python -m tools.worker_lock --check   checks that the package index still has what they name

uv resolves for the image's Python and platform, whatever machine this is; wheels only. The files contain no address
of an index.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WANTED = ROOT / "gpu_worker/requirements.txt"
CONSTRAINTS = ROOT / "constraints.txt"
LOCKS = ROOT / "gpu_worker/locks"
PYTHON, PLATFORM = "3.11", "x86_64-unknown-linux-gnu"  #: of gpu_worker/Dockerfile
#: Packages that torch needs and the image omits: 0.9 GB that make kernels at run time by a C compiler (decision 61).
LEFT_OUT = ("triton",)
#: Files of the lock, in the order of the image's layers: NVIDIA's libraries, torch, and all else.
PARTS = ("cuda", "torch", "packages")
HEADER = "# What the worker's image installs. Made by `make lock` from requirements.txt and constraints.txt.\n"

_ENTRY = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)((?: \\\n +--hash=sha256:[0-9a-f]{64})+)$", re.M)

Locked = Mapping[str, tuple[str, frozenset[str]]]  #: name -> version, sha256 of its files


class NotReached(Exception):
    """The package index does not answer."""


def resolve_packages() -> str:
    """Resolve the lock as it would be made now; return its entries as text. Raises NotReached, and RuntimeError with
    uv's message if there is no solution."""
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("uv"), "pip", "compile", "--quiet"),
            *("--generate-hashes", "--no-header", "--no-annotate"),
            *("--python-version", PYTHON, "--python-platform", PLATFORM, "--only-binary", ":all:"),
            *(word for name in LEFT_OUT for word in ("--no-emit-package", name)),
            *("--constraints", CONSTRAINTS, WANTED),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if "(Connect)" in done.stderr:
        raise NotReached
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def choose_part(name: str) -> str:
    """Return the part of the lock that a package belongs to."""
    if name.startswith(("nvidia-", "cuda-")):
        return "cuda"
    return "torch" if name in ("torch", "torchvision") else "packages"


def write_lock(text: str) -> None:
    """Write the entries of a lock, each into its part."""
    LOCKS.mkdir(exist_ok=True)
    for part in PARTS:
        entries = (entry[0] for entry in _ENTRY.finditer(text) if choose_part(entry[1]) == part)
        (LOCKS / f"{part}.lock").write_text(HEADER + "".join(f"{entry}\n" for entry in entries))


def read_lock() -> str:
    """Return the whole lock."""
    return "".join((LOCKS / f"{part}.lock").read_text() for part in PARTS)


def read_entries(text: str) -> Locked:
    """Return the entries of a lock."""
    found = _ENTRY.finditer(text)
    return {entry[1]: (entry[2], frozenset(re.findall(r"sha256:(\w+)", entry[3]))) for entry in found}


def describe_differences(locked: Locked, now: Locked) -> list[str]:
    """Describe each difference in a sentence. The index may have added files of a version by now, but removed none."""
    both = sorted({*locked, *now})
    return [
        f"{name}: locked {locked.get(name, ('-',))[0]}, resolved {now.get(name, ('-',))[0]}, or of other hashes."
        for name in both
        if name not in locked or name not in now or locked[name][0] != now[name][0] or locked[name][1] - now[name][1]
    ]


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        sys.stderr.write(__doc__ or "")
        return 2
    try:
        text = resolve_packages()
    except NotReached:
        sys.stderr.write("The package index cannot be reached: the worker's lock was neither made nor checked.\n")
        return 0 if arguments else 1
    if not arguments:
        write_lock(text)
        return 0
    found = describe_differences(read_entries(read_lock()), read_entries(text))
    for sentence in found:
        sys.stderr.write(f"gpu_worker/locks: {sentence} Run `make lock`.\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
