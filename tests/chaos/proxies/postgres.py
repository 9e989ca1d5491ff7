"""A proxy between one process and Postgres, which knows when the process commits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.chaos.proxies.weather import CUT, HELD, SLOW, Weather

COMMIT = b"COMMIT\x00"


class PostgresProxy:
    """One port, of one process. `find_port`: Postgres's own, which changes when it starts again."""

    def __init__(self, sender: str, find_port: Callable[[], int], weather: Weather) -> None:
        self.sender = sender
        self._find_port = find_port
        self._weather = weather

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back: asyncio.StreamWriter | None = None
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._find_port())
            lost = asyncio.Event()  #: the next answer never arrives
            ways = [
                asyncio.create_task(self._ask(reader, back, lost)),
                asyncio.create_task(self._answer(there, writer, lost)),
            ]
            _, open_ways = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in open_ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        except (ConnectionError, OSError):
            pass  # Postgres is not there: the process sees its connection end
        finally:
            writer.close()
            if back:
                back.close()

    async def _ask(self, reader: asyncio.StreamReader, back: asyncio.StreamWriter, lost: asyncio.Event) -> None:
        while data := await reader.read(65536):
            commits = data.endswith(COMMIT)
            request = "SQL.COMMIT" if commits else "SQL"
            if trap := self._weather.find_trap(self.sender, request, after=False):
                trap.spring(self.sender)
                return
            spell = self._weather.find_spell(request, (CUT, SLOW, HELD))
            if spell and spell.what == CUT:
                if not commits:
                    return
                lost.set()  # it commits, and nobody hears of it
            elif spell:
                await asyncio.sleep(spell.seconds)
            back.write(data)
            await back.drain()

    async def _answer(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter, lost: asyncio.Event) -> None:
        while data := await there.read(65536):
            if data.startswith(b"C\x00\x00\x00\x0bCOMMIT"):
                if trap := self._weather.find_trap(self.sender, "SQL.COMMIT", after=True):
                    trap.spring(self.sender)
                    return
                if lost.is_set():
                    return
            writer.write(data)
            await writer.drain()
