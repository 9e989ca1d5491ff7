"""A decoder process: `python -m gpu_worker.decoding.child CONNECTION MEMORY BYTES CELL WHOLE`, the first two open
descriptors (`gpu_worker.decoding.memory`).

It holds numpy and the codecs, no torch, no slide and no credentials, and ends with its parent, whose end closes the
connection. Signals are the parent's business: one that tells the whole group to leave must not take away the decoders
of a batch that the parent still finishes.
"""

from __future__ import annotations

import signal
import sys
import time
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from gpu_worker.decoding import wire
from gpu_worker.decoding.jobs import Job, Memory, Recipe
from gpu_worker.decoding.memory import mapped


def main(connection: Connection, memory: Memory, cell: int) -> None:
    begun = memory[cell : cell + 8].view(np.int64)  # jobs, for the parent to see should this process end
    recipe: Recipe | None = None
    _answer(connection, (None, None, 0.0))  # everything is loaded
    while True:
        try:
            said: Job | wire.Sent = connection.recv()
        except (EOFError, ConnectionResetError):
            return
        begun += 1
        began = time.perf_counter()
        try:
            if isinstance(said, wire.Sent):
                recipe = said.recipe or recipe
                assert recipe is not None
                said = wire.taken(recipe, said, memory)
            value, failed = said.run(memory), None
        except Exception as error:  # noqa: BLE001  # a process border: the parent raises it
            value, failed = None, error
        _answer(connection, (value, failed, time.perf_counter() - began))


def _answer(connection: Connection, answer: tuple[Any, Exception | None, float]) -> None:
    try:
        connection.send(answer)
    except (BrokenPipeError, ConnectionResetError):
        sys.exit(0)  # the parent is gone
    except Exception as error:  # noqa: BLE001  # an answer that can not be pickled
        connection.send((None, RuntimeError(f"{type(error).__name__}: {error}"), 0.0))


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    _connection, _memory, _bytes, _cell, _whole = map(int, sys.argv[1:])
    main(Connection(_connection), mapped(_memory, _bytes, whole=bool(_whole)), _cell)
