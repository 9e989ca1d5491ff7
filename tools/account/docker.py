"""Docker on this machine: it builds the worker's image for x86 and the stitcher's for Arm."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

from tools.account.account import Account, CheckResult

_SECONDS = 60


def check_docker(account: Account) -> Iterator[CheckResult]:
    """Check that docker runs and builds for the platform of each image that the deployment does not bring."""
    needed = [
        platform
        for platform, image in (
            ("linux/amd64", account.deployment.worker_image),
            ("linux/arm64", account.deployment.stitch_image),
        )
        if image is None
    ]
    if not needed:
        return
    known, problem = _list_platforms()
    if problem:
        yield CheckResult("docker", False, problem, "Start docker, or install it with buildx.")
        return
    missing = [platform for platform in needed if platform not in known]
    yield CheckResult(
        "docker platforms",
        not missing,
        f"{', '.join(missing)} missing" if missing else f"builds {' and '.join(needed)}",
        "Install an emulator of the other processor: docker run --privileged --rm tonistiigi/binfmt --install all."
        " Or set worker_image and stitch_image to images that a machine of that kind has built.",
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
