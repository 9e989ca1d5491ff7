"""The function that Lambda calls: a handler that the first event builds from the environment, for as long as the
process lives."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

from adapters.settings.environment import Environment

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]  #: event and context to answer

_Settings = TypeVar("_Settings", bound=Environment)


def make_entry(settings: type[_Settings], wire: Callable[[_Settings], Handler]) -> Handler:
    """Return a handler that its first event builds, not the import: the embedded stack and tests import the modules
    too, and have no such settings."""

    @functools.cache
    def build() -> Handler:
        return wire(settings.from_environ(os.environ))

    def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return build()(event, context)

    return handle
