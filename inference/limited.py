"""Runs a function in a process of its own, which is ended at a limit of time or memory: a model is foreign code."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final, ParamSpec, TypeVar

from inference.memory import read_process_bytes
from wsi.errors import ModelError
from wsi.portable_errors import make_portable

_PAUSE: Final = 0.1  #: seconds between checks of the process; it can allocate about 200 MB between two

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits of time and memory for `run_limited`."""

    seconds: float
    bytes: float  #: of memory in use, torch's own 500 MB included; known on Linux alone
    on_poll: Callable[[], None] = lambda: None  #: called every tenth of a second


def run_limited(
    limits: Limits, function: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
) -> Result:
    """Return what the function returns, and raise what it raises. Function, arguments and result cross processes.

    Raises ModelError at a limit, and if the process ends otherwise; what `limits.on_poll` raises ends it too.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run_and_send, args=(sender, function, arguments, named), daemon=True)
    began = time.monotonic()
    process.start()
    sender.close()  # only the child has one now, so that its end is noticed
    try:
        while not receiver.poll(_PAUSE):
            limits.on_poll()
            if time.monotonic() - began > limits.seconds:
                raise ModelError(
                    f"The model did not finish within {limits.seconds / 60:,.4g} minutes and was stopped. It may never "
                    "return; if it is only slow, allow it more time."
                )
            if read_process_bytes(process.pid) > limits.bytes:
                raise ModelError(
                    f"The model took more than {limits.bytes / 1024**3:,.4g} GiB of memory and was stopped. If it "
                    "needs that much, allow it more memory."
                )
        succeeded, answer = receiver.recv()
    except EOFError:
        process.join()
        raise ModelError(
            f"The process that ran the model ended with status {process.exitcode}: it crashed, or the machine ran out "
            "of memory."
        ) from None
    finally:
        process.kill()
        process.join()
        receiver.close()
    if not succeeded:
        raise answer
    return answer


def _run_and_send(
    sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    try:
        answer = True, function(*arguments, **named)
    except Exception as error:  # noqa: BLE001  # raised again by the parent
        answer = False, make_portable(error)
    sender.send(answer)
