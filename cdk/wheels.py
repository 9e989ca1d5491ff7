"""The wheels that bundles are made of: `python -m cdk.wheels lambda` fetches them once, so that a synth needs no
network. They are binary wheels only: what a package would compile here does not run there."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
REQUIREMENTS = ROOT / "requirements"
WHEELS = ROOT / ".bundles" / "wheels"


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    name: str
    python: str  #: "3.14"
    tags: tuple[str, ...] = ()  #: of wheels that run there; empty: this machine's

    @property
    def pip_options(self) -> tuple[str, ...]:
        if not self.tags:
            return ("--only-binary=:all:",)
        tags = [word for tag in self.tags for word in ("--platform", tag)]
        return ("--only-binary=:all:", "--implementation", "cp", "--python-version", self.python, *tags)


#: Amazon Linux 2023 on Graviton: glibc 2.34, and wheels made for an older one run there too.
LAMBDA = Platform(
    name="lambda", python="3.14", tags=tuple(f"manylinux_2_{minor}_aarch64" for minor in range(34, 16, -1))
)
HOST = Platform(name="host", python=f"{sys.version_info.major}.{sys.version_info.minor}")
PLATFORMS = {platform.name: platform for platform in (LAMBDA, HOST)}


def fetch(platform: Platform) -> None:
    """Download the wheels of all functions. Raises subprocess.CalledProcessError if one cannot be had; pip says
    which."""
    files = [word for path in sorted(REQUIREMENTS.glob("lambda-*.txt")) for word in ("-r", str(path))]
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
            *("--dest", str(WHEELS / platform.name)),
            *platform.pip_options,
            *("-c", str(CONSTRAINTS), *files),
        ],
        check=True,
    )


if __name__ == "__main__":
    fetch(PLATFORMS[sys.argv[1]])
