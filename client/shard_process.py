"""A process of `tessera run` for one device: `python -m client.shard_process CONNECTION`, an open descriptor.

It has a group of its own, so that Ctrl-C reaches the parent alone, which says what is to be finished. It ends with its
parent, whose end closes the connection; what it saved until then stands.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from contextlib import closing
from multiprocessing.connection import Connection
from typing import Any

from client.partial import Partial
from client.shard_messages import BeginSlide, End, Failed, Left, Ready, Saved, Setup, Stop, Tiles, portable
from client.shards import Planned, Watched, compute_shards
from client.sources import Sources
from gpu_worker.decoding.choice import decoders_for
from gpu_worker.engine import Engine
from gpu_worker.measuring import Measuring
from gpu_worker.models.loaded import LoadedModel
from gpu_worker.models.registry import load_model
from wsi.errors import DeviceLost, SourceChanged
from wsi.slide.opening import open_slide
from wsi.slide.reads import Reads, counted

LOST = 70  #: status of a process whose device is lost, as a worker's


class _Task:
    """A slide, the shards of it that were given to this process, and whether to stop."""

    def __init__(self, begin: BeginSlide, connection: Connection) -> None:
        self.begin = begin
        self.stop = threading.Event()
        self.given: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self.over = False
        self._connection = connection

    def next(self, *, wait: bool) -> int | None:
        if self.over:
            return None
        try:
            index = self.given.get(block=wait)
        except queue.Empty:
            return None
        self.over = index is None
        return index

    def saved(self, index: int) -> None:
        self._connection.send(Saved(index))

    def await_end(self) -> None:
        while not self.over:
            self.next(wait=True)


def main(connection: Connection) -> None:
    setup: Setup = connection.recv()
    try:
        loaded = {model.card.identity: load_model(model.card, model.package, setup.device) for model in setup.models}
    except Exception as error:  # noqa: BLE001  # a process border: the parent raises it
        connection.send(Failed(portable(error)))
        return
    tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
    decoders, budget = decoders_for(setup.device, setup.decode_workers)
    with closing(decoders), Engine(decoders, budget) as engine:
        threading.Thread(target=_listen, args=(connection, tasks), name="listen", daemon=True).start()
        connection.send(Ready())
        while True:
            task = tasks.get()
            try:
                _compute(task, loaded[task.begin.model], setup.device, engine, connection)
            except Exception as error:  # noqa: BLE001  # as above
                connection.send(Failed(portable(error)))
                if isinstance(error, DeviceLost):
                    os._exit(LOST)  # nothing more comes from here, and leaving may hang on the device
            task.await_end()
            connection.send(Left())


def _listen(connection: Connection, tasks: queue.SimpleQueue[_Task]) -> None:
    task: _Task | None = None
    while True:
        try:
            message: Any = connection.recv()
        except (EOFError, ConnectionResetError):
            os._exit(0)  # nobody is left to compute for
        match message:
            case BeginSlide():
                task = _Task(message, connection)
                tasks.put(task)
            case Stop() if task is not None:
                task.stop.set()
            case int() if task is not None:
                task.given.put(message)
            case End() if task is not None:
                task.given.put(None)
            case _:
                raise AssertionError(f"{message} has no place here")


def _compute(task: _Task, loaded: LoadedModel, device: str, engine: Engine, connection: Connection) -> None:
    """Until the shards that come are computed, or it is to stop. Raises what a run of the slide raises."""
    begin = task.begin
    partial = Partial(begin.folder, begin.key)
    plan = partial.plan()
    if plan is None:
        raise AssertionError("the parent saves the plan first")
    reads = Reads()

    def on_copy(done: int, total: int) -> None:
        if task.stop.is_set():
            raise _Stopped

    with Sources().opened(begin.slide) as source:
        if tuple(file.etag for _, file in source.files) != begin.etags:
            raise SourceChanged("The slide was written over while it was analysed: run it again.")
        try:
            reader = open_slide(
                counted(source, reads),
                mpp=begin.slide.mpp,
                index=begin.index,
                choice=begin.slide.choice,
                on_copy=on_copy,
            )
        except _Stopped:
            return
        with closing(reader):
            planned = Planned(slide=begin.slide, source=source, reader=reader, reads=reads, plan=plan, partial=partial)
            watched = Watched(
                stop=task.stop,
                on_planned=lambda tiles: None,
                on_tiles=lambda tiles: connection.send(Tiles(tiles)),
                on_copy=on_copy,
            )
            compute_shards(planned, loaded, Measuring(reads, device), engine, watched, task)


class _Stopped(Exception):
    """While the slide was copied."""


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
