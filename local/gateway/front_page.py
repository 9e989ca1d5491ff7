"""The page at the API's root in the embedded stack: its addresses and its routes, for a person with a browser."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from typing import Any

from aiohttp import web

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:3rem auto;padding:0 1rem;color:#1a1a1a;"
    "background:#fff}code{font-size:.9em}table{border-collapse:collapse;width:100%}"
    "td,th{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid #ddd}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}a{color:#8ab4f8}td,th{border-color:#333}}"
)
#: Nothing but our own style, named by its digest.
POLICY = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
METHODS = ("get", "post", "put", "patch", "delete")


def render_front_page(addresses: Mapping[str, str], openapi: Mapping[str, Any]) -> str:
    """Return the page's HTML. `addresses`: label -> URL. It holds no secret, since anybody who reaches this port may
    read it."""
    reached = "".join(
        f"<tr><th scope=row>{escape(label)}</th><td>{_address(url)}</td></tr>" for label, url in addresses.items()
    )
    routes = "".join(
        f"<tr><td><code>{method.upper()}</code></td><td><code>{escape(path)}</code></td>"
        f"<td>{escape(operation.get('summary') or '')}</td></tr>"
        for path, operations in openapi["paths"].items()
        for method, operation in operations.items()
        if method in METHODS
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Tessera</title><style>{STYLE}</style>"
        "<h1>Tessera runs on this machine</h1>"
        f"<table><tbody>{reached}</tbody></table>"
        "<p>Keys and passwords are in <code>.tessera/stack.json</code>, readable by whoever started the stack. "
        "Send a slide with <code>tessera submit SLIDE --api URL --model stain-density --watch</code>.</p>"
        f"<h2>Routes</h2><table><tbody>{routes}</tbody></table></html>"
    )


def _address(url: str) -> str:
    text = escape(url)
    return f"<a href='{text}'>{text}</a>" if url.startswith("http") else f"<code>{text}</code>"


def make_page_response(page: str) -> web.Response:
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return web.Response(text=page, content_type="text/html", headers=headers)
