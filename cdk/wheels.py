"""The wheels that bundles are made of. `make` fetches them once, so that its synths need no network; a synth that lacks
one fetches them itself. They are binary wheels only: what a package would compile here does not run there.

    python -m cdk.wheels lambda    fetches those of the functions on AWS
    python -m cdk.wheels host      fetches those of this machine, for `make deploy-emulated`
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from cdk.prerequisites import MissingPrerequisite

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
REQUIREMENTS = ROOT / "requirements"
LOCK = REQUIREMENTS / "locks/functions.lock"  #: their versions and the hashes of their files
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
    """Download the wheels of all functions. pip reports on stderr what it lacks. Raises MissingPrerequisite."""
    folder = WHEELS / platform.name
    sys.stderr.write(f"Fetching the wheels of the functions into {folder} (once; some 100 MB) …\n")
    sys.stderr.flush()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
            *("--dest", str(folder)),
            *platform.pip_options,
            *("--require-hashes", "-r", str(LOCK)),
        ],
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise MissingPrerequisite(
            "pip could not fetch the wheels of the functions. This command does, once pip reaches its package index:"
            f" {name_command(platform)}"
        )


def name_command(platform: Platform) -> str:
    """Return the command that fetches a platform's wheels."""
    return f"python3 -m cdk.wheels {platform.name}"


if __name__ == "__main__":
    try:
        fetch(PLATFORMS[sys.argv[1]])
    except MissingPrerequisite as missing:
        sys.exit(str(missing))
