"""The worker's base image with the digest that its tag has today: `python -m tools.base_digest` prints it.

    make deploy CONTEXT="-c environment=prod -c worker_base=$(.venv/bin/python -m tools.base_digest)"

It speaks the registry's own protocol, so that it needs no docker.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path

DOCKERFILE = Path(__file__).resolve().parent.parent / "gpu_worker/Dockerfile"
#: An index of platforms, or the manifest of one, in Docker's and in OCI's form.
_ACCEPTED = (
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json,"
    " application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
)
_SECONDS = 30


class NoDigest(Exception):
    """The registry did not tell the digest."""


def read_base(dockerfile: Path = DOCKERFILE) -> str:
    """Return the base image that the Dockerfile names."""
    [base] = re.findall(r"^ARG BASE=(\S+)$", dockerfile.read_text(), re.M)
    return base


def find_digest(base: str, *, registry_url: str | None = None) -> str:
    """Return the digest of an image that anybody may pull. Raises NoDigest."""
    host, _, rest = base.partition("/")
    name, _, tag = rest.partition(":")
    url = registry_url or f"https://{host}"
    try:
        with urllib.request.urlopen(f"{url}/token/?scope=repository:{name}:pull", timeout=_SECONDS) as answer:  # noqa: S310  # an address of ours
            token = json.load(answer)["token"]
        asked = urllib.request.Request(  # noqa: S310  # an address of ours
            f"{url}/v2/{name}/manifests/{tag}",
            method="HEAD",
            headers={"Authorization": f"Bearer {token}", "Accept": _ACCEPTED},
        )
        with urllib.request.urlopen(asked, timeout=_SECONDS) as answer:  # noqa: S310  # an address of ours
            digest = answer.headers.get("Docker-Content-Digest", "")
    except (urllib.error.URLError, TimeoutError, KeyError, json.JSONDecodeError) as error:
        raise NoDigest(f"The registry of {base} did not answer: {error}") from error
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        raise NoDigest(f"The registry gave no digest of {base}.")
    return digest


def main() -> int:
    base = read_base()
    try:
        sys.stdout.write(f"{base}@{find_digest(base)}\n")
    except NoDigest as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
