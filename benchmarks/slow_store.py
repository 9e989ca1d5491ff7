"""A bucket on this machine that takes S3's time: objects, ranges of them and multipart uploads, from a process of its
own.

Every answer waits `FIRST_BYTE_SECONDS`, and its bytes or those of its request as long as one connection to S3 needs for
them. `python -m benchmarks.slow_store FOLDER` prints its port and runs until its input ends.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

#: S3 answers small objects in 100 to 200 ms by its documentation ("Performance design patterns"), mostly in 20 to 30 ms
#: within a region; that page has 85 to 90 MB/s for one connection.
FIRST_BYTE_SECONDS = 0.025
BYTES_A_SECOND = 85e6
BUCKET = "bucket"

_LENGTH = re.compile(r"content-length: *(\d+)", re.IGNORECASE)
_RANGE = re.compile(r"range: *bytes=(\d+)-(\d+)", re.IGNORECASE)
_EXPECTS = re.compile(r"expect: *100-continue", re.IGNORECASE)
#: Of every object: nothing is written while it is read.
TAG = '"00000000000000000000000000000000"'
_DATE = "Thu, 01 Jan 2026 00:00:00 GMT"
_MISSING = b"<Error><Code>NoSuchKey</Code></Error>"
_BEGUN = "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
_COMPLETED = f"<CompleteMultipartUploadResult><ETag>{TAG}</ETag></CompleteMultipartUploadResult>"


@contextmanager
def serve_bucket(folder: Path) -> Iterator[str]:
    """Yield the address of a store whose one bucket, BUCKET, is this folder."""
    command = [sys.executable, "-m", "benchmarks.slow_store", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(child.stdout.readline())}"
        finally:
            child.terminate()


def read_counts(url: str) -> Counter[str]:
    """Return the requests by method, and the bytes that were "read" and "written", since the last look."""
    with urllib.request.urlopen(url) as answer:
        return Counter(json.load(answer))


class SlowStore:
    """Objects as files of a folder, by their keys."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._counts: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                if _EXPECTS.search(head):
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                found = _LENGTH.search(head)
                body = await reader.readexactly(int(found[1])) if found else b""
                if head.startswith("GET / "):
                    answer, self._counts = _make_answer(json.dumps(self._counts).encode()), Counter()
                else:
                    answer = self._answer(head, body)
                    await asyncio.sleep(FIRST_BYTE_SECONDS + (len(answer) + len(body)) / BYTES_A_SECOND)
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, head: str, body: bytes) -> bytes:
        method, target = head.split(" ", 2)[:2]
        parts = urlsplit(target)
        asked = parse_qs(parts.query, keep_blank_values=True)
        path = self._folder / unquote(parts.path).removeprefix(f"/{BUCKET}/")
        self._counts[method] += 1
        if method == "POST":
            return _make_answer((_BEGUN if "uploads" in asked else _COMPLETED).encode())
        if method == "PUT":
            self._counts["written"] += len(body)
            path.parent.mkdir(parents=True, exist_ok=True)
            if "partNumber" in asked:
                path = path.with_name(f"{path.name}.part{int(asked['partNumber'][0]):05d}")
            path.write_bytes(body)
            return _make_answer(b"")
        if not path.is_file():
            return _make_answer(_MISSING, "404 Not Found")
        whole = path.stat().st_size
        if method == "HEAD":
            return _make_answer(b"", length=whole)
        found = _RANGE.search(head)
        first, last = (int(found[1]), min(int(found[2]), whole - 1)) if found else (0, whole - 1)
        with path.open("rb") as file:
            file.seek(first)
            data = file.read(last + 1 - first)
        self._counts["read"] += len(data)
        if not found:
            return _make_answer(data)
        return _make_answer(data, "206 Partial Content", f"Content-Range: bytes {first}-{last}/{whole}\r\n")


def _make_answer(data: bytes, status: str = "200 OK", more: str = "", length: int | None = None) -> bytes:
    length = len(data) if length is None else length
    head = f"HTTP/1.1 {status}\r\nETag: {TAG}\r\nLast-Modified: {_DATE}\r\n{more}Content-Length: {length}\r\n\r\n"
    return head.encode() + data


async def run(folder: Path) -> None:
    """Serve the folder until the input ends."""
    server = await asyncio.start_server(SlowStore(folder).serve, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    async with server:
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1])))
