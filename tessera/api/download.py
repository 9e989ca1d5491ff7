"""Downloads the results of a job: each file under a temporary name, verified, then published; summary.json last."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from tessera.api.rest import Api, ResultLink
from tessera.api.transport import ATTEMPTS, compute_pause
from wsi.errors import SourceTruncated, SourceUnavailable
from wsi.replacing import replace_file
from wsi.results.summary import NAME as SUMMARY

TIMEOUT = httpx.Timeout(60.0, connect=10.0)


def download(
    api: Api,
    job_id: str,
    folder: Path,
    *,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Path, ...]:
    """Download the results of a job, and return their paths. `on_progress` receives the bytes that have arrived and
    those of all files. Raises SourceUnavailable when a file does not come whole in several tries, each with a fresh
    link."""
    links = sorted(api.list_results(job_id), key=lambda link: (link.name == SUMMARY, link.name))
    total = sum(link.size for link in links)
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    done = 0
    with httpx.Client(timeout=TIMEOUT, follow_redirects=True) as http:
        for link in links:
            paths.append(_fetch(api, http, job_id, link.name, folder, sleep))
            done += link.size
            on_progress(done, total)
    return tuple(paths)


def _fetch(api: Api, http: httpx.Client, job_id: str, name: str, folder: Path, sleep: Callable[[float], None]) -> Path:
    target = folder / Path(name).name
    partial = target.with_name(f".{target.name}.partial")
    for attempt in range(ATTEMPTS):
        link = next(link for link in api.list_results(job_id) if link.name == name)
        try:
            _stream(http, link, partial)
        except (httpx.HTTPError, SourceTruncated) as error:
            partial.unlink(missing_ok=True)
            if attempt + 1 == ATTEMPTS:
                raise SourceUnavailable(f"{name} cannot be downloaded ({type(error).__name__}).") from error
            sleep(compute_pause(attempt))
        else:
            replace_file(partial, target)
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
