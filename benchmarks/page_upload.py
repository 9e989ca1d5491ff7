"""The memory that an upload in the browser takes: `python -m benchmarks.page_upload [--gigabytes 3]`.

The built page in chromium uploads one file to the embedded stack, whose objects are files on this disk. Every half
second the memory of the browser's and of MiniStack's processes is read: resident (RSS, which counts shared pages once
for each process) and proportional (PSS, which counts them once in all).
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from local.options import StackOptions
from local.stack import Stack
from tests.slides import write_svs
from tests.web.conftest import ARGUMENTS, CHROMIUM
from tests.web.person import Person
from wsi.records.identity import Role

EVERY = 0.5  #: seconds between two readings
NAME = "large.svs"
MINISTACK = "MiniStack"
#: Chromium's --type of the processes that an upload goes through; the page's worker is a thread of its renderer.
MAIN, RENDERER, NETWORK = "browser", "renderer", "utility"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessMemory:
    """The memory of one process or several, in bytes."""

    rss: int
    pss: int


@dataclass
class Watch:
    """The peak memory of each kind of process, and of all of the browser's at one time."""

    stack: Stack
    most: dict[str, ProcessMemory] = field(default_factory=dict[str, ProcessMemory])
    _over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def run(self) -> Iterator[None]:
        thread = threading.Thread(target=self._look, name="memory")
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _look(self) -> None:
        while not self._over.wait(EVERY):
            for kind, held in measure_memory(self.stack).items():
                before = self.most.get(kind, ProcessMemory(rss=0, pss=0))
                self.most[kind] = ProcessMemory(rss=max(before.rss, held.rss), pss=max(before.pss, held.pss))


def measure_memory(stack: Stack) -> Mapping[str, ProcessMemory]:
    """Return memory by kind of process; "browser, renderer and network" and "all of chromium" are sums at one time."""
    kinds: dict[str, ProcessMemory] = {}
    for pid in _descendants(os.getpid()):
        kind = MINISTACK if pid == stack.ministack.pid else _chromium_kind(pid)
        if kind is not None:
            kinds[kind] = _sum(kinds.get(kind), _read_memory(pid))
    ours = [held for kind, held in kinds.items() if kind in (MAIN, RENDERER, NETWORK)]
    chromium = [held for kind, held in kinds.items() if kind != MINISTACK]
    return {**kinds, "browser, renderer and network": _sum(*ours), "all of chromium": _sum(*chromium)}


def _sum(*held: ProcessMemory | None) -> ProcessMemory:
    known = [one for one in held if one is not None]
    return ProcessMemory(rss=sum(one.rss for one in known), pss=sum(one.pss for one in known))


def _descendants(pid: int) -> Iterator[int]:
    for child in _children(pid):
        yield child
        yield from _descendants(child)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return found
    return found


def _chromium_kind(pid: int) -> str | None:
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").split(" ")
    except (FileNotFoundError, ProcessLookupError):
        return None
    if "chrom" not in Path(arguments[0]).name:
        return None
    return next((argument.removeprefix("--type=") for argument in arguments if argument.startswith("--type=")), MAIN)


def _read_memory(pid: int) -> ProcessMemory:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ProcessMemory(rss=0, pss=0)
    fields = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
    return ProcessMemory(rss=fields["Rss"], pss=fields["Pss"])


def write_large(path: Path, size: int) -> Path:
    """Write a slide of `size` bytes: bytes after a TIFF's directories change nothing."""
    write_svs(path, width=2048, height=2048)
    with path.open("ab") as file:
        file.truncate(size)
    return path


def upload(page: Page, path: Path) -> float:
    """Upload a file and wait until it is ready. Return the seconds until the page puts its parts together or has it
    inspected."""
    page.get_by_role("link", name="Upload", exact=True).click()
    began = time.monotonic()
    page.get_by_label("Files of slides", exact=True).set_input_files(path)
    row = page.get_by_role("region", name="Uploads", exact=True).get_by_role("listitem")
    row.filter(has_text="Finishing").or_(row.filter(has_text="Being inspected")).wait_for(timeout=1_800_000)
    seconds = time.monotonic() - began
    row.get_by_text("Ready").wait_for(timeout=600_000)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=3)
    size = int(parser.parse_args().gigabytes * 1e9)
    chromium = next(filter(None, map(shutil.which, CHROMIUM)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        slide = write_large(Path(folder) / NAME, size)
        stack = Stack(Path(folder) / "stack", StackOptions(workers=0, durable=False))
        stack.start()
        try:
            browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
            page = browser.new_page()
            person = Person(page=page, origin=stack.as_json()["page_url"].rstrip("/"), users=stack.access.users)
            person.sign_in(Role.ANALYST)
            page.wait_for_timeout(3000)
            idle = measure_memory(stack)
            watch = Watch(stack)
            with watch.run():
                seconds = upload(page, slide)
            assert person.complaints == []
            browser.close()
        finally:
            stack.stop()
    print(f"{size / 1e9:g} GB in {seconds:.0f} s, {size / seconds / 1e6:.0f} MB/s\n")
    print("| MB | RSS before | PSS before | RSS at most | PSS at most |\n|---|---|---|---|---|")
    for kind, most in sorted(watch.most.items()):
        before = idle.get(kind, ProcessMemory(rss=0, pss=0))
        figures = (before.rss, before.pss, most.rss, most.pss)
        print(f"| {kind} | " + " | ".join(f"{figure / 1e6:,.0f}" for figure in figures) + " |")


if __name__ == "__main__":
    main()
