"""A folder served as an S3 bucket to range readers, from a process of its own so that it takes no time from theirs.
`python -m tests.slide_server FOLDER MILLISECONDS` prints its port and runs until its input ends."""

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

from adapters.aws_clients import AwsClients
from adapters.s3.ranges import RangeReads, S3RangeSource
from wsi.ports.objects import StoredObject
from wsi.slide.source import SlideSource

_RANGE = re.compile(r"range: *bytes=(\d+)-(\d+)", re.IGNORECASE)
_IF_MATCH = re.compile(r'if-match: *"([^"]*)"', re.IGNORECASE)
_HEAD = (
    "HTTP/1.1 206 Partial Content\r\nContent-Length: {size}\r\nContent-Range: bytes {first}-{last}/{whole}\r\n"
    'ETag: "{etag}"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n'
)


@contextmanager
def serve(folder: Path, *, milliseconds: int = 0) -> Iterator[str]:
    """The address of the bucket's store; every answer waits `milliseconds`."""
    command = [sys.executable, "-m", "tests.slide_server", str(folder), str(milliseconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(child.stdout.readline())}"
        finally:
            child.terminate()


def range_reads(url: str) -> RangeReads:
    return RangeReads(AwsClients("eu-central-1", url))


def served(reads: RangeReads, folder: Path, source: SlideSource) -> SlideSource:
    """The same slide as it lies in the bucket that serves `folder`, by the production's S3 reader. Its files must lie
    beside `source.local_path`."""
    assert source.local_path is not None
    beside = source.local_path.parent.relative_to(folder)
    files = tuple(
        (name, S3RangeSource(reads, "bucket", (beside / name).as_posix(), _stored(folder / beside / name)))
        for name, _ in source.files
    )
    return SlideSource(files=files)


def _stored(path: Path) -> StoredObject:
    facts = path.stat()
    return StoredObject(size=facts.st_size, etag=f"{facts.st_size:x}{facts.st_mtime_ns:x}")


async def _answer(folder: Path, seconds: float, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            if seconds:
                await asyncio.sleep(seconds)
            writer.write(_response(folder, head))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _response(folder: Path, head: str) -> bytes:
    key = unquote(head.split(" ", 2)[1].split("?")[0]).removeprefix("/bucket/")
    path = folder / key
    if not path.is_file():
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    stored, wanted, pinned = _stored(path), _RANGE.search(head), _IF_MATCH.search(head)
    if pinned and pinned[1] != stored.etag:
        return b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n"
    first, last = (int(wanted[1]), min(int(wanted[2]), stored.size - 1)) if wanted else (0, stored.size - 1)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        data = os.pread(descriptor, last + 1 - first, first)
    finally:
        os.close(descriptor)
    return _HEAD.format(size=len(data), first=first, last=last, whole=stored.size, etag=stored.etag).encode() + data


async def _run(folder: Path, seconds: float) -> None:
    server = await asyncio.start_server(lambda *streams: _answer(folder, seconds, *streams), "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    async with server:
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1]), int(sys.argv[2]) / 1000))
