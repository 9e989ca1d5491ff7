"""The emulator's credentials, for this process and its children, in place of those of the person who runs it."""

from __future__ import annotations

import os
from collections.abc import Mapping

CREDENTIALS: Mapping[str, str] = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class LocalCredentials:
    """Credentials in place of this process's AWS_ variables from `take` to `give_back`: the SDK's chain ends there."""

    def __init__(self) -> None:
        self._before: dict[str, str] | None = None

    def take(self) -> None:
        if self._before is None:
            self._before = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
            _replace(CREDENTIALS)

    def give_back(self) -> None:
        if self._before is not None:
            _replace(self._before)
            self._before = None


def make_child_environ(settings: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "TESSERA_"))}
    return {**kept, **CREDENTIALS, **settings}


def _replace(variables: Mapping[str, str]) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(variables)
