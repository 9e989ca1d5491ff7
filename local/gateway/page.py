"""The page under the origin of the API, as CloudFront serves it: web/dist, the configuration, and the list of this
stack's addresses in its place while nothing is built."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from aiohttp import web

from adapters.settings.page_policy import make_page_policy
from local.gateway.front_page import make_page_response

BUILT = Path(__file__).resolve().parents[2] / "web" / "dist"
CONFIG = "/config.json"
ADDRESSES = "/stack.html"  #: of this stack; "/" too, while the page is not built
HASHED = "assets"  #: files that carry a digest of their content in their name
FOR_EVER = "public, max-age=31536000, immutable"
HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class WebPage:
    """The page of this stack. `config` is what cdk/web/stack.py writes; `connect` and `images` are origins other than
    its own that the page talks to, and has images of; `addresses` makes the list of this stack's addresses."""

    config: Mapping[str, str]
    connect: tuple[str, ...]
    images: tuple[str, ...]
    addresses: Callable[[], str]
    folder: Path = BUILT

    @property
    def is_built(self) -> bool:
        return (self.folder / "index.html").is_file()

    def respond(self, request: web.Request) -> web.StreamResponse | None:
        """Return the page's answer; None for a path of the API. Paths without an extension get index.html, as
        cdk/web/functions/page.js has it."""
        path = request.path
        if request.method not in ("GET", "HEAD") or path == "/api" or path.startswith("/api/"):
            return None
        if path == CONFIG:
            return web.json_response(dict(self.config), headers={**HEADERS, "Cache-Control": "no-store"})
        if path == ADDRESSES or (path == "/" and not self.is_built):
            return make_page_response(self.addresses())
        return self._file(path) if self.is_built else None

    def _file(self, path: str) -> web.StreamResponse:
        name = path.lstrip("/") if "." in path.rsplit("/", 1)[-1] else "index.html"
        file = (self.folder / name).resolve()
        if not file.is_relative_to(self.folder.resolve()) or not file.is_file():
            return web.Response(status=HTTPStatus.NOT_FOUND, text="There is no such file.", headers=HEADERS)
        kind, _ = mimetypes.guess_type(file.name)
        return web.Response(
            body=file.read_bytes(),
            content_type=kind or "application/octet-stream",
            charset="utf-8" if kind and kind.startswith("text/") else None,
            headers={
                **HEADERS,
                "Content-Security-Policy": make_page_policy(connect=self.connect, images=self.images),
                "Cache-Control": FOR_EVER if file.parent.name == HASHED else "no-cache",
            },
        )
