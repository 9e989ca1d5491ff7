"""A folder served by byte ranges as S3 does it, from a process of its own so that it takes no time from its readers.
`python -m tests.range_server FOLDER MILLISECONDS` prints its port and runs until its input ends. Standard library only.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

_RANGE = re.compile(r"range: *bytes=(\d+)-(\d+)", re.IGNORECASE)
_IF_MATCH = re.compile(r'if-match: *"([^"]*)"', re.IGNORECASE)
_HEAD = (
    "HTTP/1.1 206 Partial Content\r\nContent-Length: {size}\r\nContent-Range: bytes {first}-{last}/{whole}\r\n"
    'ETag: "{etag}"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n'
)


@contextmanager
def serve(folder: Path, *, milliseconds: int = 0) -> Iterator[str]:
    """The address of the bucket's store; every answer waits `milliseconds`."""
    command = [sys.executable, "-m", "tests.range_server", str(folder), str(milliseconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(child.stdout.readline())}"
        finally:
            child.terminate()


def facts(path: Path) -> tuple[int, str]:
    """Size in bytes and ETag."""
    found = path.stat()
    return found.st_size, f"{found.st_size:x}{found.st_mtime_ns:x}"


async def _answer(folder: Path, seconds: float, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            if seconds:
                await asyncio.sleep(seconds)
            for part in _response(folder, head):
                writer.write(part)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _response(folder: Path, head: str) -> tuple[bytes, ...]:
    key = unquote(head.split(" ", 2)[1].split("?")[0]).removeprefix("/bucket/")
    path = folder / key
    if not path.is_file():
        return (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",)
    (whole, etag), wanted, pinned = facts(path), _RANGE.search(head), _IF_MATCH.search(head)
    if pinned and pinned[1] != etag:
        return (b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n",)
    first, last = (int(wanted[1]), min(int(wanted[2]), whole - 1)) if wanted else (0, whole - 1)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        data = os.pread(descriptor, last + 1 - first, first)
    finally:
        os.close(descriptor)
    return _HEAD.format(size=len(data), first=first, last=last, whole=whole, etag=etag).encode(), data


async def _run(folder: Path, seconds: float) -> None:
    server = await asyncio.start_server(lambda *streams: _answer(folder, seconds, *streams), "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    async with server:
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1]), int(sys.argv[2]) / 1000))
