"""The code of the functions, bundled on this machine without docker and without network: the wheels that `cdk.wheels`
fetched, and our packages.

Each kind of asset has its own requirements under the one constraints file. Its hash is of what goes in, so that a
README changes nothing and two synths of one commit are alike; what was bundled once lies in `.bundles/` for the next.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
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


def bundle(kind: AssetKind, platform: Platform) -> Path:
    """The folder of the bundle, made when it is not there. Of two processes at once, one's is kept.

    Raises RuntimeError when a wheel is missing: `make setup` fetches them.
    """
    folder = BUNDLES / f"{kind.name.lower()}-{digest(kind, platform)[:32]}"
    if folder.exists():
        return folder
    BUNDLES.mkdir(exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=BUNDLES))
    _install(kind.value.requirements, platform, partial)
    copy_sources(kind.value, partial)
    partial.chmod(0o755)
    try:
        partial.rename(folder)
    except OSError:  # another process was first
        shutil.rmtree(partial)
    return folder


@cache
def digest(kind: AssetKind, platform: Platform) -> str:
    """Hex sha256 of all that decides a bundle's content. Once a process: one synth sees one state of the files."""
    hashed = hashlib.sha256(repr((platform, kind.value, _LEFT_OUT, sorted(SERVICES))).encode())
    for path in sorted(_inputs(kind.value)):
        hashed.update(f"{path.relative_to(ROOT)}\0".encode())
        hashed.update(hashlib.sha256(path.read_bytes()).digest())
    return hashed.hexdigest()


def copy_sources(contents: _Contents, target: Path) -> None:
    """What of ours is in the asset, without the wheels: no file that its digest does not know."""
    for source in _sources(contents):
        copy = target / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)


def _inputs(contents: _Contents) -> Iterator[Path]:
    yield CONSTRAINTS
    yield from REQUIREMENTS.glob("lambda-*.txt")
    yield from _sources(contents)


def _sources(contents: _Contents) -> Iterator[Path]:
    for package in contents.packages:
        yield from (ROOT / package).rglob("*.py") if (ROOT / package).is_dir() else [ROOT / package]


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


@jsii.implements(cdk.ILocalBundling)
class _HostBundling:
    def __init__(self, kind: AssetKind, platform: Platform) -> None:
        self._kind = kind
        self._platform = platform

    def try_bundle(self, output_dir: str, *, image: Any = None, **options: Any) -> bool:
        shutil.copytree(bundle(self._kind, self._platform), output_dir, dirs_exist_ok=True, copy_function=_linked)
        return True


def _linked(source: str, target: str) -> str:
    """A second name of the file costs no time and no room; between two disks it is copied."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target
