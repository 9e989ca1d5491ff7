"""The process of `tessera run` for one device: `python -m tessera.local_run.shard_process DESCRIPTOR`.

It has a process group of its own, so that Ctrl-C reaches the parent alone, which decides what to finish. It exits when
its parent does, whose end closes the connection; what it saved until then stays.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from contextlib import closing
from multiprocessing.connection import Connection
from typing import Any

from inference.decoder_choice import choose_decoders
from inference.engine import Engine
from inference.models.loaded import LoadedModel
from inference.models.registry import load_model
from tessera.local_run.checkpoints import RunCheckpoint
from tessera.local_run.shard_messages import BeginSlide, End, Failed, Left, Ready, Saved, Setup, Stop, TilesDone
from tessera.local_run.shards import PlannedSlide, RunCallbacks, compute_shards
from tessera.local_run.sources import Sources
from wsi.errors import DeviceLost, SourceChanged
from wsi.portable_errors import make_portable
from wsi.slide.files.scratch import ScratchSpace
from wsi.slide.opening import open_slide
from wsi.slide.reads import ReadCounter, attach_counter

LOST = 70  #: exit status of a process whose device is lost, as a worker's


class _SlideQueue:
    """The shards of one slide that the parent gave to this process, and whether to stop."""

    def __init__(self, begin: BeginSlide, connection: Connection) -> None:
        self.begin = begin
        self.stop = threading.Event()
        self._shards: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._is_complete = False
        self._connection = connection

    def take_next(self, *, wait: bool) -> int | None:
        """Return the next shard; None after the last one, or if none was given yet and `wait` is not set."""
        if self._is_complete:
            return None
        try:
            index = self._shards.get(block=wait)
        except queue.Empty:
            return None
        self._is_complete = index is None
        return index

    def on_saved(self, index: int) -> None:
        self._connection.send(Saved(index))

    def put(self, index: int | None) -> None:
        """Add a shard; None after the last one."""
        self._shards.put(index)

    def skip_rest(self) -> None:
        """Drop what is left, and wait until no shard follows."""
        while not self._is_complete:
            self.take_next(wait=True)


def main(connection: Connection) -> None:
    setup: Setup = connection.recv()
    try:
        loaded = {model.card.identity: load_model(model.card, model.package, setup.device) for model in setup.models}
    except Exception as error:  # noqa: BLE001  # a process border: the parent raises it
        connection.send(Failed(make_portable(error)))
        return
    slides: queue.SimpleQueue[_SlideQueue] = queue.SimpleQueue()
    decoders, budget = choose_decoders(setup.device, setup.decode_workers)
    with closing(decoders), Engine(decoders, budget) as engine:
        threading.Thread(target=_listen, args=(connection, slides), name="listen", daemon=True).start()
        connection.send(Ready())
        while True:
            current = slides.get()
            try:
                _compute(current, loaded[current.begin.model], setup.device, engine, connection)
            except Exception as error:  # noqa: BLE001  # as above
                connection.send(Failed(make_portable(error)))
                if isinstance(error, DeviceLost):
                    os._exit(LOST)  # nothing more comes from here, and leaving may hang on the device
            current.skip_rest()
            connection.send(Left())


def _listen(connection: Connection, slides: queue.SimpleQueue[_SlideQueue]) -> None:
    current: _SlideQueue | None = None
    while True:
        try:
            message: Any = connection.recv()
        except (EOFError, ConnectionResetError):
            os._exit(0)  # nobody needs the results any more
        match message:
            case BeginSlide():
                current = _SlideQueue(message, connection)
                slides.put(current)
            case Stop() if current is not None:
                current.stop.set()
            case int() if current is not None:
                current.put(message)
            case End() if current is not None:
                current.put(None)
            case _:
                raise AssertionError(f"{message} has no place here")


def _compute(shards: _SlideQueue, loaded: LoadedModel, device: str, engine: Engine, connection: Connection) -> None:
    """Compute the shards that come, until none follows or it must stop. Raises what a run of the slide raises."""
    begin = shards.begin
    checkpoint = RunCheckpoint(begin.folder, begin.key)
    plan = checkpoint.read_plan()
    if plan is None:
        raise AssertionError("the parent saves the plan first")
    reads = ReadCounter()

    def on_copy(done: int, total: int) -> None:
        if shards.stop.is_set():
            raise _Stopped

    with Sources().open(begin.slide) as source:
        if tuple(file.etag for _, file in source.files) != begin.etags:
            raise SourceChanged("The slide was written over while it was analysed: run it again.")
        try:
            reader = open_slide(
                attach_counter(source, reads),
                mpp=begin.slide.mpp,
                index=begin.index,
                choice=begin.slide.choice,
                scratch=ScratchSpace(on_copy=on_copy),
            )
        except _Stopped:
            return
        with closing(reader):
            planned = PlannedSlide(
                slide=begin.slide, source=source, reader=reader, reads=reads, plan=plan, checkpoint=checkpoint
            )
            callbacks = RunCallbacks(
                stop=shards.stop,
                on_planned=lambda tiles: None,
                on_tiles=lambda tiles: connection.send(TilesDone(tiles)),
                on_copy=on_copy,
            )
            compute_shards(planned, loaded, device, engine, callbacks, shards)


class _Stopped(Exception):
    """The run was stopped while the slide was copied."""


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])))
