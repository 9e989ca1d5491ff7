"""A proxy in front of an HTTP server that goes silent on every connection on which a request begins with certain bytes.
`python -m tests.stack.hanging_proxy PORT START` prints its own port and runs until its input ends."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit


@contextmanager
def hanging(url: str, start: str) -> Iterator[str]:
    """The address of `url` through the proxy."""
    command = [sys.executable, "-m", "tests.stack.hanging_proxy", str(urlsplit(url).port), start]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(child.stdout.readline())}"
        finally:
            child.terminate()


async def _forward(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silent: asyncio.Event, start: bytes | None
) -> None:
    try:
        while data := await reader.read(65536):
            if start is not None and data.startswith(start):
                silent.set()
            if silent.is_set():
                await asyncio.sleep(3600)
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def _run(port: int, start: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        silent = asyncio.Event()
        await asyncio.gather(_forward(reader, back, silent, start), _forward(there, writer, silent, None))

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    async with server:
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_run(int(sys.argv[1]), sys.argv[2].encode()))
