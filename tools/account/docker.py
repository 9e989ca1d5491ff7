"""Docker on this machine: it builds the worker's image, unless something else does."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

from cdk.deployment import DOCKER
from tools.account.account import Account, CheckResult

PLATFORM = "linux/amd64"
_SECONDS = 60


def check_docker(account: Account) -> Iterator[CheckResult]:
    """Check that docker runs and builds for the worker's platform. Nothing if CodeBuild does, or the image exists."""
    if account.deployment.worker_image != DOCKER:
        return
    known, problem = _list_platforms()
    if problem:
        yield CheckResult(
            "docker",
            False,
            problem,
            "Start docker, or install it with buildx. Without docker: -c worker_image=codebuild.",
        )
        return
    is_known = PLATFORM in known
    yield CheckResult(
        "docker platform",
        is_known,
        f"builds {PLATFORM}" if is_known else f"{PLATFORM} missing",
        "Install an emulator of x86: docker run --privileged --rm tonistiigi/binfmt --install amd64."
        " Or let AWS build the image: -c worker_image=codebuild.",
    )


def _list_platforms() -> tuple[set[str], str]:
    """Return the platforms that docker builds for, and what went wrong."""
    try:
        done = subprocess.run(
            ["docker", "buildx", "inspect", "--bootstrap"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except FileNotFoundError:
        return set(), "not installed"
    except subprocess.TimeoutExpired:
        return set(), f"does not answer within {_SECONDS} seconds"
    if done.returncode:
        return set(), (done.stderr.strip().splitlines() or ["fails without a message"])[-1]
    # A star marks platforms that were named by hand.
    platforms = re.findall(r"^\s*Platforms:\s*(.+)$", done.stdout, re.M)
    return {one.strip().rstrip("*") for line in platforms for one in line.split(",")}, ""
