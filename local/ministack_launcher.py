"""Starts MiniStack with five things changed. Runs in MiniStack's own venv, so it imports nothing of ours.

Range reads: with S3_PERSIST=1 MiniStack reads the whole file for each range (19-26 GET/s on a 50 MB object); mapped
into memory the same reads run at 640-1,080 GET/s, and its memory stays at about 50 MB.

Functions: each of their processes unpacks the function's code for itself (255 MB of wheels) and compiles what it
imports; here functions of equal code share one unpacked folder, which on Lambda none of them could write to either.

Copied parts: S3 computes the checksum of a part that it copies into an upload that has one; MiniStack does not.

Door: MiniStack takes everybody for the root of the account; where the environment names a key, only what that key has
signed comes in (`local/emulator_door.py`).

Gateway: MiniStack answers 500 when a function's answer has no body, as one of status 204 has none.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import mmap
import os
import shutil
import sys
import tempfile
import types
import zipfile
from pathlib import Path
from typing import Any

import ministack.app as application  # pyright: ignore[reportMissingImports]
import ministack.core.lambda_runtime as lambda_runtime  # pyright: ignore[reportMissingImports]
import ministack.services.apigateway_v1 as gateway  # pyright: ignore[reportMissingImports]
import ministack.services.s3 as s3  # pyright: ignore[reportMissingImports]

MAPPED_FROM = 1 << 20  #: bytes; smaller objects are read at once


def map_bodies() -> None:
    """Replace MiniStack's body reader by one that maps large files, and turn what leaves it back into bytes."""
    read_whole, get_object = s3._read_body, s3._get_object

    def read_body(bucket: str, key: str, held: dict[str, Any]) -> Any:
        path = s3._object_disk_path(bucket, key)
        if held.get("body") is not None or held.get("size", 0) < MAPPED_FROM or path is None:
            return read_whole(bucket, key, held)
        with open(path, "rb") as file:  # noqa: PTH123
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def get_whole(*arguments: Any, **named: Any) -> Any:
        status, headers, body = get_object(*arguments, **named)
        return status, headers, body[:] if isinstance(body, mmap.mmap) else body

    s3._read_body, s3._get_object = read_body, get_whole


def sum_copied_parts() -> None:
    copy_part = s3._upload_part_copy

    def with_checksum(bucket: str, key: str, query: dict[str, Any], headers: dict[str, Any]) -> Any:
        answer = copy_part(bucket, key, query, headers)
        upload = s3._multipart_uploads.get(s3._qp(query, "uploadId"), {})
        if answer[0] == 200 and upload.get("checksum_algorithm") == "SHA256":
            part = upload["parts"][int(s3._qp(query, "partNumber", "1"))]
            part["body"] = bytes(part["body"])  # of a file that was mapped, which goes when the object does
            part["checksums"] = {"SHA256": base64.b64encode(hashlib.sha256(part["body"]).digest()).decode()}
        return answer

    s3._upload_part_copy = with_checksum


class _SharedCode(zipfile.ZipFile):
    """`extractall` leaves a link to a folder that all archives of the same content share."""

    def extractall(self, path: Any = None, *_: Any, **__: Any) -> None:
        content = repr([(member.filename, member.CRC) for member in self.infolist()]).encode()
        shared = Path(tempfile.gettempdir()) / f"code-{hashlib.sha256(content).hexdigest()[:32]}"
        if not shared.exists():
            unpacking = Path(tempfile.mkdtemp())
            super().extractall(unpacking)
            try:
                unpacking.rename(shared)
            except OSError:  # another process of a function with this code was faster
                shutil.rmtree(unpacking)
        Path(path).rmdir()
        Path(path).symlink_to(shared)


def share_code() -> None:
    lambda_runtime.zipfile = types.SimpleNamespace(
        ZipFile=_SharedCode, BadZipFile=zipfile.BadZipFile, LargeZipFile=zipfile.LargeZipFile
    )


def allow_answers_without_body() -> None:
    read = gateway._lambda_proxy_response

    def with_a_body(result: Any) -> Any:
        answer, error = read(result)
        return ({**answer, "body": answer.get("body") or ""} if answer else answer), error

    gateway._lambda_proxy_response = with_a_body


def close_door() -> None:
    """Put the door before MiniStack, if the environment names the file of its origins. The module is loaded from its
    path: the folder has modules of names that MiniStack may import."""
    origins = os.environ.get("TESSERA_ORIGINS")
    if origins is None:
        return
    spec = importlib.util.spec_from_file_location("emulator_door", Path(__file__).with_name("emulator_door.py"))
    assert spec is not None
    assert spec.loader is not None
    door = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = door
    spec.loader.exec_module(door)
    key_id, secret = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
    application.app = door.Door(application.app, key_id=key_id, secret=secret, origins=Path(origins))


if __name__ == "__main__":
    close_door()
    map_bodies()
    sum_copied_parts()
    share_code()
    allow_answers_without_body()
    application.main()
