"""The code of the functions, bundled on this machine without docker: the wheels that `cdk.wheels` fetched, and our
packages.

Each kind of asset has its own requirements under the one constraints file. Its hash covers only the bundled files, so
that a README changes nothing and two synths of one commit are alike. Installed wheels are cached in `.bundles/`.
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
from constructs import Construct

from cdk.deployment import Deployment
from cdk.prerequisites import MissingPrerequisite
from cdk.wheels import CONSTRAINTS, HOST, LAMBDA, REQUIREMENTS, ROOT, WHEELS, Platform, fetch, name_command

ARCHITECTURE = lambda_.Architecture.ARM_64
RUNTIME = lambda_.Runtime.PYTHON_3_14
BUNDLES = ROOT / ".bundles"
#: Files that no function imports: tests that packages ship, and files to compile their sources.
_LEFT_OUT = ("tests", "test", "__pycache__", "bin", "*.pyi")
#: botocore describes 400 services in 28 MB, a tenth of what Lambda takes; these are the ones that functions call.
SERVICES = frozenset(
    {"codebuild", "cognito-idp", "ecr", "lambda", "rds", "s3", "secretsmanager", "sesv2", "sqs", "sts", "xray"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Contents:
    requirements: str  #: file in requirements/
    packages: tuple[str, ...]  #: folders and files of ours, from the root


class AssetKind(Enum):
    API = _Contents(requirements="lambda-api.txt", packages=("wsi", "adapters", "lambdas"))
    SLIDES = _Contents(requirements="lambda-slides.txt", packages=("wsi", "adapters", "lambdas"))
    #: Tables alone, without OpenSlide: what new result files need fits here and not into SLIDES.
    STITCH = _Contents(requirements="lambda-stitch.txt", packages=("wsi", "adapters", "lambdas"))
    #: What `migrate` imports and no more: whatever changes here runs the migrations with the next deployment.
    MIGRATIONS = _Contents(
        requirements="lambda-migrations.txt",
        packages=(
            *("adapters/__init__.py", "adapters/aws_clients.py", "adapters/migrations", "adapters/settings"),
            "adapters/postgres/__init__.py",
            "adapters/postgres/connections.py",
            *(f"adapters/postgres/owner/{module}.py" for module in ("__init__", "connection", "migrate")),
            *(f"lambdas/{module}.py" for module in ("__init__", "cold_start", "migrate")),
        ),
    )


def bundle_code(scope: Construct, kind: AssetKind, deployment: Deployment) -> lambda_.Code:
    """Return the code bundled for Lambda, or for this machine if an emulator runs the functions as its own
    processes. Missing wheels are fetched. Raises MissingPrerequisite if that fails."""
    platform = HOST if deployment.emulated else LAMBDA
    if cdk.Stack.of(scope).bundling_required:
        # Here and not in try_bundle, which jsii calls from JavaScript: an error there ends in a traceback of both.
        ensure_installed(kind, platform)
    return lambda_.Code.from_asset(
        str(ROOT / "lambdas"),  # unused, since `kind` names the files: the CDK wants some folder
        asset_hash=compute_digest(kind, platform),
        asset_hash_type=cdk.AssetHashType.CUSTOM,
        bundling=cdk.BundlingOptions(image=RUNTIME.bundling_image, local=_HostBundling(kind, platform)),
    )


def ensure_installed(kind: AssetKind, platform: Platform) -> None:
    """Ensure that the wheels of an asset are installed for its bundles; fetch those that are missing. Raises
    MissingPrerequisite."""
    try:
        _find_installed(kind, platform)
    except MissingPrerequisite:
        fetch(platform)
        _find_installed(kind, platform)


def write_bundle(kind: AssetKind, platform: Platform, target: Path) -> None:
    """Write the bundle to folder `target`. Raises MissingPrerequisite if a wheel is missing."""
    shutil.copytree(_find_installed(kind, platform), target, dirs_exist_ok=True, copy_function=_link_or_copy)
    copy_sources(kind, target)


def copy_sources(kind: AssetKind, target: Path) -> None:
    """Copy our own files of the asset, without the wheels: no file that its digest does not cover."""
    for source in _sources(kind):
        copied = target / source.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copied)


@cache
def compute_digest(kind: AssetKind, platform: Platform) -> str:
    """Return the hex sha256 of everything that determines a bundle's content. It is computed once a process: one synth
    sees one state of the files."""
    return _hash_files(repr((platform, kind.value)), [*_list_requirements(kind), *_sources(kind)])


def _find_installed(kind: AssetKind, platform: Platform) -> Path:
    """Return the folder of installed wheels, cached for the next bundle. If two processes install, the first wins."""
    folder = (
        BUNDLES
        / f"{kind.name.lower()}-{_hash_files(repr((platform, _LEFT_OUT, sorted(SERVICES))), _list_requirements(kind))}"
    )
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
        raise MissingPrerequisite(
            f"Wheels of the functions are missing. This command fetches them: {name_command(platform)}\n"
            f"{done.stderr.strip()[-500:]}"
        )
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


def _list_requirements(kind: AssetKind) -> list[Path]:
    return [CONSTRAINTS, REQUIREMENTS / kind.value.requirements]


def _hash_files(said: str, files: Iterable[Path]) -> str:
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
        write_bundle(self._kind, self._platform, Path(output_dir))
        return True


def _link_or_copy(source: str, target: str) -> str:
    """Give the file a second name, which takes no time and no space; copy it between two disks."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target
