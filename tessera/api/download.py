"""Downloads the results of a job: each file under a temporary name, verified, then published; summary.json last."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx

from tessera.api.rest import Api, ResultLink
from tessera.api.transport import ATTEMPTS, compute_pause
from wsi.errors import SourceError, SourceTruncated, SourceUnavailable
from wsi.file_names import is_file_name
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
    those of all files. Raises SourceError before the first byte for a name that is none of a file in `folder`, and
    SourceUnavailable when a file does not come whole, and as announced, in several tries, each with a fresh link."""
    links = sorted(api.list_results(job_id), key=lambda link: (link.name == SUMMARY, link.name))
    _check_names([link.name for link in links])
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


def _check_names(names: Sequence[str]) -> None:
    """Raise SourceError unless each name is one file in the folder, on every system: the installation states them."""
    if not all(is_file_name(name, on_windows=True) and not name.startswith(".") for name in names):
        raise SourceError("The installation names a result that is no name of a file: nothing was downloaded.")
    if len({name.casefold() for name in names}) < len(names):
        raise SourceError("The installation names two results alike: nothing was downloaded.")


def _fetch(api: Api, http: httpx.Client, job_id: str, name: str, folder: Path, sleep: Callable[[float], None]) -> Path:
    target = folder / name
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
    """Write the file that the link announces. Raises SourceTruncated for another size or other bytes: of a file that
    is longer, not more than was announced is read."""
    digest, size = hashlib.sha256(), 0
    with http.stream("GET", link.url) as answer, partial.open("wb") as file:
        answer.raise_for_status()
        for block in answer.iter_raw(1 << 20):
            size += len(block)
            if size > link.size:
                break
            digest.update(block)
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    if size != link.size or digest.hexdigest() != link.sha256:
        raise SourceTruncated("The file is not the one that was announced.")
