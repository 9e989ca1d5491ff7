"""The code of the functions, bundled on this machine without docker: wheels for Lambda's platform, and our packages.

Each kind of asset has its own requirements under the one constraints file. Its hash is of what goes in, so that a
README changes nothing and two synths of one commit are alike.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import jsii
from aws_cdk import aws_lambda as lambda_

from cdk.deployment import Deployment

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
ARCHITECTURE = lambda_.Architecture.ARM_64
RUNTIME = lambda_.Runtime.PYTHON_3_13
PYTHON = "3.13"
#: Lambda's Amazon Linux 2023 has glibc 2.34; older wheels run there too.
PLATFORMS = ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64")


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
    contents = kind.value
    return lambda_.Code.from_asset(
        str(ROOT / "lambdas"),  # what is bundled comes from `contents`; the CDK wants some folder
        asset_hash=_digest(contents),
        asset_hash_type=cdk.AssetHashType.CUSTOM,
        bundling=cdk.BundlingOptions(image=RUNTIME.bundling_image, local=_HostBundling(contents)),
    )


def bundle(contents: _Contents, target: Path) -> None:
    """Wheels and sources into `target`. Raises subprocess.CalledProcessError when a wheel is not to be had."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    platforms = [argument for platform in PLATFORMS for argument in ("--platform", platform)]
    subprocess.run(
        [
            *command,
            *("--target", str(target), "--implementation", "cp", "--python-version", PYTHON, "--only-binary=:all:"),
            *platforms,
            *("-c", str(CONSTRAINTS), "-r", str(ROOT / "requirements" / contents.requirements)),
        ],
        check=True,
        stdout=sys.stderr,  # jsii speaks on stdout
    )
    copy_sources(contents, target)


def copy_sources(contents: _Contents, target: Path) -> None:
    """What of ours is in the asset, without the wheels."""
    for source in _sources(contents):
        copy = target / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)


def _sources(contents: _Contents) -> list[Path]:
    named = [ROOT / package for package in contents.packages]
    return [file for path in named for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]


def _digest(contents: _Contents) -> str:
    files = [CONSTRAINTS, ROOT / "requirements" / contents.requirements, *_sources(contents)]
    hashed = hashlib.sha256(repr((PYTHON, PLATFORMS)).encode())
    for path in files:
        hashed.update(f"{path.relative_to(ROOT)}\0".encode())
        hashed.update(hashlib.sha256(path.read_bytes()).digest())
    return hashed.hexdigest()


@jsii.implements(cdk.ILocalBundling)
class _HostBundling:
    def __init__(self, contents: _Contents) -> None:
        self._contents = contents

    def try_bundle(self, output_dir: str, *, image: Any = None, **options: Any) -> bool:
        bundle(self._contents, Path(output_dir))
        return True
