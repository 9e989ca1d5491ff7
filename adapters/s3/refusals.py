"""What S3's refusals mean to us. One table, used around every call."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from wsi.errors import Conflict, Invalid, SourceMissing, SourceUnavailable, TesseraError

#: S3 answers 403 to HEAD and GET of a missing key when the caller may not list the bucket.
_MISSING = {"404", "NoSuchKey", "NoSuchUpload", "NoSuchBucket", "NotFound", "403", "AccessDenied", "Forbidden"}
_WRONG_PARTS = {"InvalidPart", "InvalidPartOrder", "EntityTooSmall", "BadDigest", "InvalidRequest", "MalformedXML"}


def code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def typed(error: ClientError) -> TesseraError:
    """The error of our tree for a refusal of S3. Its sentence names no key: keys of others can hold names."""
    code = code_of(error)
    if code in _MISSING:
        return SourceMissing("The object does not exist or may not be read by this installation.")
    if code in _WRONG_PARTS:
        return Invalid("The parts stored do not make up the file that was declared; upload the missing ones again.")
    if code in ("PreconditionFailed", "InvalidObjectState"):
        return Conflict("The object is archived or was replaced; restore it or register it again.")
    return SourceUnavailable(f"The object store refused the request ({code or 'no code'}); try again in a minute.")


@contextmanager
def typed_refusals() -> Generator[None]:
    """Raises SourceMissing, Invalid, Conflict or SourceUnavailable for what boto3 raises inside."""
    try:
        yield
    except ClientError as error:
        raise typed(error) from error
    except BotoCoreError as error:
        raise SourceUnavailable("The object store did not answer; try again in a minute.") from error
