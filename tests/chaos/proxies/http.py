"""A proxy between one process and the emulator of S3 and SQS, which reads each request and its answer whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.proxies.weather import CUT, HELD, REFUSED, SHORT, SLOW, SWALLOWED, Weather

_REFUSAL = (
    b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
)


@dataclass
class Exchange:
    """A request, and later its answer."""

    first: bytes
    headers: list[bytes]
    body: bytes
    answer: bytes = b""  #: of the answer, the body
    named: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`SQS.DeleteMessage`, or `S3.PUT /bucket/key`."""
        if target := self.named.get("x-amz-target"):
            return f"SQS.{target.partition('.')[2]}" if "SQS" in target else target
        method, path = self.first.decode("latin-1").split()[:2]
        return f"S3.{method} {path.partition('?')[0]}"

    def read_json(self, *, of_answer: bool = False) -> dict[str, Any]:
        try:
            return json.loads(self.answer if of_answer else self.body)
        except ValueError:
            return {}


async def read_message(reader: asyncio.StreamReader, *, on_expect: Callable[[], None] | None = None) -> Exchange | None:
    """Read a request or an answer with its body. None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *headers = head[:-4].split(b"\r\n")
    named = {
        key.strip().lower(): value.strip()
        for key, _, value in (line.decode("latin-1").partition(":") for line in headers)
    }
    if "expect" in named and on_expect is not None:
        on_expect()
        headers = [line for line in headers if not line.lower().startswith(b"expect:")]
    return Exchange(first=first, headers=headers, body=b"", named=named)


async def read_body(reader: asyncio.StreamReader, message: Exchange, *, none: bool = False) -> bytes:
    """Read what follows the headers, as it came: chunks stay chunks."""
    if none:
        return b""
    if "chunked" in message.named.get("transfer-encoding", ""):
        raw = b""
        while True:
            line = await reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            raw += line + await reader.readexactly(size + 2)
            if size == 0:
                return raw
    return await reader.readexactly(int(message.named.get("content-length", 0)))


class HttpProxy:
    """One port, of one process. `on_exchange` sees what was answered before the process does."""

    def __init__(
        self, sender: str, upstream: int, weather: Weather, on_exchange: Callable[[str, Exchange], None]
    ) -> None:
        self.sender = sender
        self._upstream = upstream
        self._weather = weather
        self._on_exchange = on_exchange

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        try:
            upstream = await asyncio.open_connection("127.0.0.1", self._upstream, limit=1 << 20)
            while await self._pass_on(reader, writer, *upstream):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, OSError, ValueError):
            pass  # either side hung up: so does the other
        finally:
            writer.close()
            if upstream:
                upstream[1].close()

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        there: asyncio.StreamReader,
        back: asyncio.StreamWriter,
    ) -> bool:
        weather = self._weather
        asked = await read_message(reader, on_expect=lambda: writer.write(b"HTTP/1.1 100 Continue\r\n\r\n"))
        if asked is None:
            return False
        asked.body = await read_body(reader, asked)
        name = asked.name
        if trap := weather.find_trap(self.sender, name, after=False):
            trap.spring(self.sender)
            return False
        if spell := weather.find_spell(name, (REFUSED, CUT, SLOW, SWALLOWED)):
            if spell.what == REFUSED:
                length = f"content-length: {len(_REFUSAL)}\r\n\r\n"
                head = f"HTTP/1.1 503 Slow Down\r\ncontent-type: application/xml\r\n{length}"
                writer.write(head.encode() + (b"" if name.startswith("S3.HEAD") else _REFUSAL))
                return True
            if spell.what == CUT:  # half a request arrives, then nothing
                back.write(_write(asked)[: -max(1, len(asked.body) // 2)])
                return False
            if spell.what == SWALLOWED:
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: 2\r\n\r\n{}"
                )
                return True
            await asyncio.sleep(spell.seconds)
        back.write(_write(asked))
        answer = await read_message(there)
        if answer is None:
            return False
        none = name.startswith("S3.HEAD") or answer.first.split()[1] in (b"204", b"304")
        answer.body = asked.answer = await read_body(there, answer, none=none)
        self._on_exchange(self.sender, asked)
        if trap := weather.find_trap(self.sender, name, after=True):
            trap.spring(self.sender)
            if not trap.passes:
                return False
        if spell := weather.find_spell(name, (SHORT, HELD)):
            if spell.what == SHORT and len(answer.body) > 1:
                writer.write(_write(answer)[: -(len(answer.body) // 2)])
                await writer.drain()
                return False
            await asyncio.sleep(spell.seconds)
        writer.write(_write(answer))
        await writer.drain()
        return True


def _write(message: Exchange) -> bytes:
    return b"\r\n".join([message.first, *message.headers, b"", message.body])
