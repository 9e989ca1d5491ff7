"""What Lambda calls: a handler that the first event builds from the environment, for as long as the process lives."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

from adapters.settings.environment import Environment

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]  #: event and context to answer

_Settings = TypeVar("_Settings", bound=Environment)
_Wiring = TypeVar("_Wiring")


def entry(
    settings: type[_Settings], wire: Callable[[_Settings], _Wiring], make_handler: Callable[[_Wiring], Handler]
) -> Handler:
    """Not at import: the modules are imported by the embedded stack and by tests too, which have no such settings."""

    @functools.cache
    def built() -> Handler:
        return make_handler(wire(settings.from_environ(os.environ)))

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return built()(event, context)

    return handler
