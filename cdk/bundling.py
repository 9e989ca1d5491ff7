"""The code of the functions, bundled on this machine without docker and without network: the wheels that `cdk.wheels`
fetched, and our packages.

Each kind of asset has its own requirements under the one constraints file. Its hash is of what goes in, so that a
README changes nothing and two synths of one commit are alike; what was installed once lies in `.bundles/` for the next.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import jsii
from aws_cdk import aws_lambda as lambda_

from cdk.deployment import Deployment
from cdk.wheels import CONSTRAINTS, HOST, LAMBDA, REQUIREMENTS, ROOT, WHEELS, Platform

ARCHITECTURE = lambda_.Architecture.ARM_64
RUNTIME = lambda_.Runtime.PYTHON_3_14
BUNDLES = ROOT / ".bundles"
#: Never imported by a function: tests that packages ship, and what compiles their sources.
_LEFT_OUT = ("tests", "test", "__pycache__", "bin", "*.pyi")
#: botocore describes 400 services in 28 MB, a tenth of what Lambda takes; these are the ones that functions call.
SERVICES = frozenset({"lambda", "rds", "s3", "secretsmanager", "sesv2", "sqs", "sts"})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Contents:
    requirements: str  #: file in requirements/
    packages: tuple[str, ...]  #: folders and files of ours, from the root


class AssetKind(Enum):
    API = _Contents(requirements="lambda-api.txt", packages=("wsi", "adapters", "lambdas"))
    SLIDES = _Contents(requirements="lambda-slides.txt", packages=("wsi", "adapters", "lambdas"))
    #: What `migrate` imports and no more: whatever changes here runs the migrations with the next deployment.
    MIGRATIONS = _Contents(
        requirements="lambda-migrations.txt",
        packages=(
            *("adapters/__init__.py", "adapters/aws_clients.py", "adapters/migrations", "adapters/settings"),
            *(f"adapters/postgres/{module}.py" for module in ("__init__", "connections", "migrate", "owner")),
            *(f"lambdas/{module}.py" for module in ("__init__", "cold_start", "migrate")),
        ),
    )


def bundled(kind: AssetKind, deployment: Deployment) -> lambda_.Code:
    """For Lambda; or for this machine, where an emulator runs the functions as its own processes."""
    platform = HOST if deployment.emulated else LAMBDA
    return lambda_.Code.from_asset(
        str(ROOT / "lambdas"),  # what is bundled comes from `kind`; the CDK wants some folder
        asset_hash=digest(kind, platform),
        asset_hash_type=cdk.AssetHashType.CUSTOM,
        bundling=cdk.BundlingOptions(image=RUNTIME.bundling_image, local=_HostBundling(kind, platform)),
    )


def fill(kind: AssetKind, platform: Platform, target: Path) -> None:
    """The bundle, into the folder `target`. Raises RuntimeError when a wheel is missing: `make setup` fetches them."""
    shutil.copytree(_installed(kind, platform), target, dirs_exist_ok=True, copy_function=_linked)
    copy_sources(kind, target)


def copy_sources(kind: AssetKind, target: Path) -> None:
    """What of ours is in the asset, without the wheels: no file that its digest does not know."""
    for source in _sources(kind):
        copied = target / source.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copied)


@cache
def digest(kind: AssetKind, platform: Platform) -> str:
    """Hex sha256 of all that decides a bundle's content. Once a process: one synth sees one state of the files."""
    return _hashed(repr((platform, kind.value)), [*_required(kind), *_sources(kind)])


def _installed(kind: AssetKind, platform: Platform) -> Path:
    """What the wheels hold, kept for the next bundle. Of two processes at once, one's is kept."""
    folder = BUNDLES / f"{kind.name.lower()}-{_hashed(repr((platform, _LEFT_OUT, sorted(SERVICES))), _required(kind))}"
    if folder.exists():
        return folder
    BUNDLES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=BUNDLES) as partial:
        made = Path(partial) / "made"
        _install(kind.value.requirements, platform, made)
        try:
            made.rename(folder)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):  # which say that another process was first
                raise
    return folder


def _install(requirements: str, platform: Platform, target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    done = subprocess.run(
        [
            *command,
            *("--no-index", "--find-links", str(WHEELS / platform.name), "--target", str(target)),
            *platform.pip_options,
            *("-c", str(CONSTRAINTS), "-r", str(REQUIREMENTS / requirements)),
        ],
        check=False,
        capture_output=True,  # jsii speaks on stdout
        text=True,
        env={key: value for key, value in os.environ.items() if not key.startswith("PIP_")},
    )
    if done.returncode:
        raise RuntimeError(f"Wheels are missing; `make setup` fetches them: {done.stderr.strip()[-500:]}")
    for name in _LEFT_OUT:
        for path in list(target.rglob(name)):
            if path.is_dir():
                shutil.rmtree(path)
            elif path.exists():
                path.unlink()
    for service in (target / "botocore" / "data").iterdir():
        if service.is_dir() and service.name not in SERVICES:
            shutil.rmtree(service)


def _sources(kind: AssetKind) -> list[Path]:
    named = (ROOT / package for package in kind.value.packages)
    return [path for one in named for path in (one.rglob("*.py") if one.is_dir() else [one])]


def _required(kind: AssetKind) -> list[Path]:
    return [CONSTRAINTS, REQUIREMENTS / kind.value.requirements]


def _hashed(said: str, files: Iterable[Path]) -> str:
    hashed = hashlib.sha256(said.encode())
    for path in sorted(files):
        hashed.update(f"{path.relative_to(ROOT)}\0".encode())
        hashed.update(hashlib.sha256(path.read_bytes()).digest())
    return hashed.hexdigest()


@jsii.implements(cdk.ILocalBundling)
class _HostBundling:
    def __init__(self, kind: AssetKind, platform: Platform) -> None:
        self._kind = kind
        self._platform = platform

    def try_bundle(self, output_dir: str, *, image: Any = None, **options: Any) -> bool:
        fill(self._kind, self._platform, Path(output_dir))
        return True


def _linked(source: str, target: str) -> str:
    """A second name of the file costs no time and no room; between two disks it is copied."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target
