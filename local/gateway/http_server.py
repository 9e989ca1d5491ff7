"""An aiohttp application on a port of 127.0.0.1, in a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from aiohttp import web
from aiohttp.typedefs import Handler

from local.ports import choose_free_port

HOSTS = frozenset({"127.0.0.1", "localhost"})
START_SECONDS = 30.0
HANDLER_THREADS = 16


class HttpServer:
    """A server of the app that `make_app` returns. `make_app` runs in the server's thread."""

    def __init__(self, name: str, make_app: Callable[[], web.Application]) -> None:
        self._name = name
        self._make_app = make_app
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._stopping = asyncio.Event()
        self._ready: threading.Event = threading.Event()
        self._failure: Exception | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the server, and return when the port listens. Raises what kept it from doing so."""
        self._thread.start()
        if not self._ready.wait(START_SECONDS):
            raise RuntimeError(f"The server {self._name} did not start.")
        if self._failure:
            raise self._failure

    def stop(self) -> None:
        """Stop the server; running requests get a few seconds to end. Idempotent."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner, ThreadPoolExecutor(HANDLER_THREADS) as threads:
            self._loop.set_default_executor(threads)
            runner.run(self._serve())

    async def _serve(self) -> None:
        # Bodies are passed on as they came: a gateway does not unpack what says that it is compressed.
        app = self._make_app()
        app.middlewares.insert(0, _check_host)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=3.0, auto_decompress=False)
        try:
            await runner.setup()
            self.port = await _listen(runner)
        except Exception as error:  # noqa: BLE001 - handed to the thread that waits in start()
            self._failure = error
            self._ready.set()
            await runner.cleanup()
            return
        self._ready.set()
        await self._stopping.wait()
        await runner.cleanup()


@web.middleware
async def _check_host(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests under another host's name: a page of that host had its name resolve to this machine, and would
    else be of the server's own origin (DNS rebinding)."""
    if request.url.host not in HOSTS:
        return web.Response(status=421, text="This server answers as 127.0.0.1 and localhost only.")
    return await handler(request)


async def _listen(runner: web.AppRunner) -> int:
    for _ in range(5):
        port = choose_free_port()
        try:
            await web.TCPSite(runner, "127.0.0.1", port).start()
        except OSError:
            continue  # another process took the port between our look and our bind
        return port
    raise RuntimeError("No port could be taken.")
