"""A browser's checks around an upload by a page of another origin (CORS): it asks first, and shows the page only
what it may see."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import httpx

from local.emulated.report import Report
from local.emulated.synthesis import PAGE

STRANGER = "https://elsewhere.example"
PART = bytes(1000)
ALLOWED, EXPOSED = "access-control-allow-origin", "access-control-expose-headers"


def upload_from_a_page(api: httpx.Client, credential: Mapping[str, str], report: Report) -> None:
    """Upload one part as a page in a browser does, abort the upload, and check which origins S3 and the API let in."""
    with report.step(f"a page at {PAGE} begins an upload, sends a part, aborts"):
        begun = api.post("/uploads", json={"files": [{"name": "x.svs", "size": len(PART)}]}, headers=credential)
        path = f"/uploads/{begun.json().get('slide_id')}"
        part = {"file": 0, "n": 1, "size": len(PART), "sha256": hashlib.sha256(PART).hexdigest()}
        granted = api.post(f"{path}/parts", json={"parts": [part]}, headers={**credential, "Origin": PAGE})
        (grant,) = granted.json().get("parts") or ({},)
        asked = {origin: _preflight(grant["url"], origin, "PUT") for origin in (PAGE, STRANGER)}
        sent = httpx.put(grant["url"], content=PART, headers={**grant["headers"], "Origin": PAGE})
        stored = api.get(f"{path}/parts", headers=credential)
        aborted = api.delete(path, headers=credential)
        asked_api = {origin: _preflight(str(granted.url), origin, "POST") for origin in (PAGE, STRANGER)}
    codes = [answer.status_code for answer in (begun, granted, sent, stored, aborted)]
    report.check(
        "the upload was begun, its part taken, listed and aborted", codes == [201, 200, 200, 200, 204], str(codes)
    )
    report.check("S3 lets the page in, and no other origin", asked == {PAGE: True, STRANGER: False}, str(asked))
    exposed = sent.headers.get(EXPOSED, "")
    report.check("S3 shows the page the part's ETag", "etag" in exposed.lower(), str(dict(sent.headers)))
    report.check(
        "the API lets the page in, and no other origin", asked_api == {PAGE: True, STRANGER: False}, str(asked_api)
    )
    report.check("the API's answer may be read by the page", granted.headers.get(ALLOWED) == PAGE, str(granted.headers))


def _preflight(url: str, origin: str, method: str) -> bool:
    """Return whether a browser would send the request."""
    wanted: dict[str, Any] = {"Origin": origin, "Access-Control-Request-Method": method}
    answer = httpx.options(url, headers={**wanted, "Access-Control-Request-Headers": "authorization,content-type"})
    return answer.is_success and answer.headers.get(ALLOWED) in (origin, "*")
