"""A decoder process: `python -m inference.decoding.child CONNECTION MEMORY BYTES CELL WHOLE`, the first two open
descriptors (`inference.decoding.memory`).

It holds numpy and the codecs, no torch, no slide and no credentials, and ends with its parent, whose end closes the
connection. SIGTERM and SIGINT are ignored: one that tells the whole process group to leave must not take away the
decoders of a batch that the parent still finishes. The parent starts this process with both blocked, so that one that
comes while it loads does not kill it.
"""

from __future__ import annotations

import sys
import time
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from inference.child_signals import ignore_signals
from inference.decoding import wire
from inference.decoding.decode_tasks import DecodeTask, Memory, Recipe
from inference.decoding.memory import map_shared


def main(connection: Connection, memory: Memory, cell: int) -> None:
    """Run tasks until the parent closes the connection. `cell`: byte of the memory for the count of begun tasks."""
    begun = memory[cell : cell + 8].view(np.int64)  # tasks; the parent reads it if this process dies
    recipe: Recipe | None = None
    _send(connection, (None, None, 0.0))  # everything is loaded
    while True:
        try:
            task: DecodeTask | wire.EncodedTask = connection.recv()
        except (EOFError, ConnectionResetError):
            return
        begun += 1
        began = time.perf_counter()
        try:
            if isinstance(task, wire.EncodedTask):
                recipe = task.recipe or recipe
                assert recipe is not None
                task = wire.read_task(recipe, task, memory)
            value, failed = task.run(memory), None
        except Exception as error:  # noqa: BLE001  # a process border: the parent raises it
            value, failed = None, error
        _send(connection, (value, failed, time.perf_counter() - began))


def _send(connection: Connection, answer: tuple[Any, Exception | None, float]) -> None:
    try:
        connection.send(answer)
    except (BrokenPipeError, ConnectionResetError):
        sys.exit(0)  # the parent is gone
    except Exception as error:  # noqa: BLE001  # an answer that cannot be pickled
        connection.send((None, RuntimeError(f"{type(error).__name__}: {error}"), 0.0))


if __name__ == "__main__":
    ignore_signals()
    _connection, _memory, _bytes, _cell, _whole = map(int, sys.argv[1:])
    main(Connection(_connection), map_shared(_memory, _bytes, whole=bool(_whole)), _cell)
