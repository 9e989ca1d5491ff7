"""The translation of S3's errors into ours, used around every call."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from wsi.errors import Conflict, Invalid, SourceMissing, SourceUnavailable, TesseraError

#: S3 answers 403 to HEAD and GET of a missing key when the caller may not list the bucket.
_MISSING = {"404", "NoSuchKey", "NoSuchUpload", "NoSuchBucket", "NotFound", "403", "AccessDenied", "Forbidden"}
_WRONG_PARTS = {"InvalidPart", "InvalidPartOrder", "EntityTooSmall", "BadDigest", "InvalidRequest", "MalformedXML"}


def read_code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def as_tessera_error(error: ClientError) -> TesseraError:
    """Return our error for a refusal of S3. Its sentence names no key: keys of others can hold names."""
    code = read_code(error)
    if code in _MISSING:
        return SourceMissing("The object does not exist or may not be read by this installation.")
    if code in _WRONG_PARTS:
        return Invalid("The parts stored do not make up the file that was declared; upload the missing ones again.")
    if code in ("PreconditionFailed", "InvalidObjectState"):
        return Conflict("The object is archived or was replaced; restore it or register it again.")
    return SourceUnavailable(f"The object store refused the request ({code or 'no code'}); try again in a minute.")


@contextmanager
def translate_refusals() -> Generator[None]:
    """Raise SourceMissing, Invalid, Conflict or SourceUnavailable in place of what boto3 raises inside."""
    try:
        yield
    except ClientError as error:
        raise as_tessera_error(error) from error
    except BotoCoreError as error:
        raise SourceUnavailable("The object store did not answer; try again in a minute.") from error
