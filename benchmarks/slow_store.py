"""A bucket on this machine that takes S3's time: whole objects and multipart uploads, from a process of its own.

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
_EXPECTS = re.compile(r"expect: *100-continue", re.IGNORECASE)
_TAG = '"00000000000000000000000000000000"'
_BEGUN = "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
_COMPLETED = f"<CompleteMultipartUploadResult><ETag>{_TAG}</ETag></CompleteMultipartUploadResult>"


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
                method, target = head.split(" ", 2)[:2]
                if target == "/":
                    answer, self._counts = json.dumps(self._counts).encode(), Counter()
                else:
                    answer = self._answer(method, target, body)
                    await asyncio.sleep(FIRST_BYTE_SECONDS + (len(answer) + len(body)) / BYTES_A_SECOND)
                writer.write(f"HTTP/1.1 200 OK\r\nETag: {_TAG}\r\nContent-Length: {len(answer)}\r\n\r\n".encode())
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, method: str, target: str, body: bytes) -> bytes:
        parts = urlsplit(target)
        asked = parse_qs(parts.query, keep_blank_values=True)
        path = self._folder / unquote(parts.path).removeprefix(f"/{BUCKET}/")
        self._counts[method] += 1
        if method == "POST":
            return (_BEGUN if "uploads" in asked else _COMPLETED).encode()
        if method == "GET":
            data = path.read_bytes()
            self._counts["read"] += len(data)
            return data
        assert method == "PUT", method
        self._counts["written"] += len(body)
        path.parent.mkdir(parents=True, exist_ok=True)
        if "partNumber" in asked:
            path = path.with_name(f"{path.name}.part{int(asked['partNumber'][0]):05d}")
        path.write_bytes(body)
        return b""


async def run(folder: Path) -> None:
    """Serve the folder until the input ends."""
    server = await asyncio.start_server(SlowStore(folder).serve, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    async with server:
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1])))
