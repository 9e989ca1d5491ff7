"""A decoder process: `python -m gpu_worker.decoding.child CONNECTION MEMORY BYTES`, the first two open descriptors.

It holds numpy and the codecs, no torch, no slide and no credentials, and ends with its parent, whose end closes the
connection. Signals are the parent's business: one that tells the whole group to leave must not take away the decoders
of a batch that the parent still finishes.
"""

from __future__ import annotations

import mmap
import signal
import sys
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from gpu_worker.decoding.jobs import Job, Memory, ScatterTiles


def main(connection: Connection, memory: Memory) -> None:
    _answer(connection, (None, None))  # everything is loaded
    while True:
        try:
            job, slab = connection.recv()
        except (EOFError, ConnectionResetError):
            return
        try:
            answer = (job_on(job, slab, memory).run(memory), None)
        except Exception as error:  # noqa: BLE001  # a process border: the parent raises it
            answer = (None, error)
        _answer(connection, answer)


def job_on(job: Job, slab: tuple[int, int] | None, memory: Memory) -> Job:
    """The job with its tiles' bytes, which lie in the memory from `slab[0]` to `slab[1]` where they do not travel."""
    if slab is None or not isinstance(job, ScatterTiles):
        return job
    return replace(job, encoded=replace(job.encoded, data=memory[slab[0] : slab[1]].data))


def _answer(connection: Connection, answer: tuple[Any, Exception | None]) -> None:
    try:
        connection.send(answer)
    except (BrokenPipeError, ConnectionResetError):
        sys.exit(0)  # the parent is gone
    except Exception as error:  # noqa: BLE001  # an answer that can not be pickled
        connection.send((None, RuntimeError(f"{type(error).__name__}: {error}")))


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    _connection, _memory, _bytes = map(int, sys.argv[1:])
    main(Connection(_connection), np.frombuffer(mmap.mmap(_memory, _bytes), np.uint8))
