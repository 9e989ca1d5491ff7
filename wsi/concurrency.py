"""Many calls that wait for the network, in parallel. Each has the caller's context: the span that is current there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context, copy_context
from typing import TypeVar

_AT_ONCE = 16  #: requests to S3, for slides of many files: 1,000 files open in about two seconds
#: Results that `iterate_concurrently` holds: objects of some megabytes, which shall not fill a small function's memory.
AHEAD = 8

_In = TypeVar("_In")
_Out = TypeVar("_Out")


def map_concurrently(call: Callable[[_In], _Out], items: Sequence[_In]) -> list[_Out]:
    """Call `call` on every item, in parallel when there are several, and return the results in order. Raises the first
    error."""
    if len(items) <= 1:
        return [call(item) for item in items]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        # A context cannot be entered twice at a time.
        contexts: list[Context] = [copy_context() for _ in items]

        def run(context: Context, item: _In) -> _Out:
            return context.run(call, item)

        return list(pool.map(run, contexts, items))


def iterate_concurrently(call: Callable[[_In], _Out], items: Iterable[_In], *, ahead: int = AHEAD) -> Generator[_Out]:
    """Yield the results of `call` in order while at most `ahead` further ones, 1 or more, are on their way or wait.
    Raises the first error at its place; no call begins after that, or once the caller stops."""
    with ThreadPoolExecutor(ahead) as pool:
        waiting: deque[Future[_Out]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(copy_context().run, call, item))
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
