"""The proxies' ports, served by a thread of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from local.ports import choose_free_port

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


class ProxyThread:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxies", daemon=True)
        self._servers: list[asyncio.Server] = []
        #: asyncio itself forgets the task of a connection that its client ended, in the middle of its work.
        self._serving: set[asyncio.Task[Any]] = set()

    def start(self) -> None:
        self._thread.start()

    def open(self, serve: Serve) -> int:
        """Serve a port of 127.0.0.1, and return it."""
        return asyncio.run_coroutine_threadsafe(self._open(serve), self._loop).result(10)

    async def _open(self, serve: Serve) -> int:
        async def serve_kept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._serving.add(task)
            try:
                await serve(reader, writer)
            finally:
                self._serving.discard(task)

        for _ in range(5):
            port = choose_free_port()
            try:
                server = await asyncio.start_server(serve_kept, "127.0.0.1", port, limit=1 << 20)
            except OSError:
                continue  # another process took it meanwhile
            self._servers.append(server)
            return port
        raise RuntimeError("No port could be taken.")

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
