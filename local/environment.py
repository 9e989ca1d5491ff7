"""The emulator's credentials, for this process and its children, in place of those of the person who runs it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping

KEY_ID = "tessera"  #: of the credentials of each embedded stack
_KEY_ID = "AWS_ACCESS_KEY_ID"
#: Of an emulator that lets everybody in: tests of adapters, and the emulated deployment.
CREDENTIALS: Mapping[str, str] = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def make_credentials() -> Mapping[str, str]:
    """Return credentials that nobody else knows, for one run of an embedded stack."""
    return {**CREDENTIALS, _KEY_ID: KEY_ID, "AWS_SECRET_ACCESS_KEY": secrets.token_urlsafe(32)}


class LocalCredentials:
    """Credentials in place of this process's AWS_ variables from `take` to `give_back`: the SDK's chain ends there."""

    def __init__(self, credentials: Mapping[str, str] = CREDENTIALS) -> None:
        self._credentials = credentials
        self._before: dict[str, str] | None = None

    def take(self) -> None:
        if self._before is None:
            self._before = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
            _replace(self._credentials)

    def give_back(self) -> None:
        if self._before is not None:
            _replace(self._before)
            self._before = None


def make_child_environ(settings: Mapping[str, str]) -> dict[str, str]:
    """Return a child's environment: that of this process with the settings, and with an emulator's credentials: those
    that this process has taken, or else those of an open one."""
    is_taken = os.environ.get(_KEY_ID) == KEY_ID
    credentials = {name: os.environ[name] for name in CREDENTIALS} if is_taken else CREDENTIALS
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "TESSERA_"))}
    return {**kept, **credentials, **settings}


def _replace(variables: Mapping[str, str]) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(variables)
