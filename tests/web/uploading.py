"""What somebody does at the page Upload, and what goes over the line meanwhile."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, Request, Route, expect

from wsi.digests import PART_SIZE

PARTS = 6
SECONDS = 60_000  #: ms that six parts and an inspection may take here


def padded(source: Path, path: Path) -> Path:
    path.write_bytes(source.read_bytes())
    with path.open("ab") as file:
        file.truncate((PARTS - 1) * PART_SIZE + 1_000_000)
    return path


class Parts:
    """What the browser sends to S3; parts above `last` hang, as on a line that is dead."""

    def __init__(self, page: Page, *, last: int = PARTS) -> None:
        self.sent: list[int] = []
        self.last = last
        self._held: list[Route] = []
        page.route(re.compile(r"[?&]partNumber="), self._pass)

    def _pass(self, route: Route) -> None:
        if route.request.method == "PUT" and number_of(route.request) > self.last:
            self._held.append(route)
            return
        if route.request.method == "PUT":
            self.sent.append(number_of(route.request))
        route.continue_()

    def let_go(self) -> None:
        """Those that hang break off."""
        held, self._held = self._held, []
        for route in held:
            route.abort()


def number_of(request: Request) -> int:
    found = re.search(r"[?&]partNumber=(\d+)", request.url)
    assert found
    return int(found.group(1))


def wait_for(page: Page, look: Callable[[], bool]) -> None:
    """Without standing in the way of what the browser tells."""
    for _ in range(300):
        if look():
            return
        page.wait_for_timeout(100)
    raise AssertionError("not within 30 s")


def choose(page: Page, *paths: Path) -> None:
    page.get_by_label("Files of slides", exact=True).set_input_files(paths)


def choose_folder(page: Page, folder: Path) -> None:
    """By the input that takes one folder with all that is in it."""
    page.get_by_label("A folder of slides", exact=True).set_input_files(folder)


def drop(page: Page, *paths: Path) -> None:
    """As from the system's file manager: the page gets real entries, folders too."""
    expect(page.get_by_text("Drop slides or folders here")).to_be_visible()
    tools = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        tools.send("Input.dispatchDragEvent", {"type": kind, "x": 400, "y": 200, "data": data})


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name="Uploads", exact=True).get_by_role("listitem").filter(has_text=name)
