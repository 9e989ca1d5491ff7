"""Results of a job into a folder: each file under a temporary name, verified, then published; summary.json last."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from client.api import Api, ResultLink
from client.transport import ATTEMPTS, pause
from wsi.errors import SourceTruncated, SourceUnavailable
from wsi.results.summary import NAME as SUMMARY

TIMEOUT = httpx.Timeout(60.0, connect=10.0)


def download(
    api: Api,
    job_id: str,
    folder: Path,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Path, ...]:
    """The paths of the results. Raises SourceUnavailable when a file does not come whole in several tries, each with
    a fresh link."""
    folder.mkdir(parents=True, exist_ok=True)
    names = sorted((link.name for link in api.results(job_id)), key=lambda name: (name == SUMMARY, name))
    with httpx.Client(timeout=TIMEOUT, follow_redirects=True) as http:
        return tuple(_fetch(api, http, job_id, name, folder, sleep) for name in names)


def _fetch(api: Api, http: httpx.Client, job_id: str, name: str, folder: Path, sleep: Callable[[float], None]) -> Path:
    target = folder / Path(name).name
    partial = target.with_name(f".{target.name}.partial")
    for attempt in range(ATTEMPTS):
        link = next(link for link in api.results(job_id) if link.name == name)
        try:
            _stream(http, link, partial)
        except (httpx.HTTPError, SourceTruncated) as error:
            partial.unlink(missing_ok=True)
            if attempt + 1 == ATTEMPTS:
                raise SourceUnavailable(f"{name} can not be downloaded ({type(error).__name__}).") from error
            sleep(pause(attempt))
        else:
            partial.replace(target)
            return target
    raise AssertionError("unreachable: the last attempt returns or raises")


def _stream(http: httpx.Client, link: ResultLink, partial: Path) -> None:
    digest = hashlib.sha256()
    with http.stream("GET", link.url) as answer, partial.open("wb") as file:
        answer.raise_for_status()
        for block in answer.iter_raw(1 << 20):
            digest.update(block)
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    if digest.hexdigest() != link.sha256:
        raise SourceTruncated("The file is not the one that was announced.")
