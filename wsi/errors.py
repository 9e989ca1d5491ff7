"""The one error tree. Each class knows its stable code, its HTTP status and whether trying again can help.

    TesseraError
    +-- SlideRejected        the file cannot be analysed; `reason` says which rule it broke
    +-- TileUnreadable       one tile of the file cannot be decoded; the rest is still analysed
    +-- SourceError          bytes could not be read
    |   +-- SourceMissing    no such file or object
    |   +-- SourceOutside    the object lies where its tenant may not read; nobody looked whether it exists
    |   +-- SourceTruncated  fewer bytes than the requested range
    |   +-- SourceChanged    another version of the object answered (ETag)
    |   +-- SourceUnavailable  the store did not answer; try again
    +-- LedgerUnavailable    the database did not answer, or hung up in the middle; try again
    +-- ModelError           the model package is unknown, damaged or refused
    |   +-- ModelFailed      its network crashed, or gave a value that cannot be a score
    +-- UnsuitableDevice     this machine's device cannot hold the model's one batch shape; another machine's may
    +-- DeviceLost           the device is broken or gone: only a new process, mostly on another machine, helps
    +-- Stuck                the work on a shard made no progress for too long: a read or a forward pass that never ends
    +-- NewerSchema          a plan or a result that a newer release wrote; its workers and functions can read it
    +-- JobFailed            a job that cannot be finished; `reason` goes to the user
    +-- LeaseLost            another worker holds the shard now; drop the work
    +-- RequestError         a mistake of a caller of the API
        +-- Unauthenticated 401, Forbidden 403, NotFound 404, Invalid 422, TooManyRequests 429
        +-- Conflict 409
            +-- ObjectLocked  S3 Object Lock keeps an object that was to be deleted

Every message is one sentence that the reader can act on. It never holds a file name, a token or a free-text tag,
since all of those can carry patient data.
"""

from __future__ import annotations

import errno
from enum import StrEnum
from typing import ClassVar, Final

FULL_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT})  #: of an OSError: no room on a disk of this machine


class RejectReason(StrEnum):
    """The reason why a slide cannot be analysed. Stable: stored in SQL, printed by the CLI, shown by the page."""

    NOT_A_SLIDE = "not_a_slide"
    TRUNCATED = "truncated"
    DAMAGED = "damaged"
    MISSING_FILES = "missing_files"
    UNSUPPORTED_FORMAT = "unsupported_format"
    UNSUPPORTED_PIXELS = "unsupported_pixels"
    NO_MPP = "no_mpp"
    ABSURD_MPP = "absurd_mpp"
    SLIDE_TOO_COARSE = "slide_too_coarse"
    TOO_LARGE_FOR_FORMAT = "too_large_for_format"
    UNSUPPORTED_COMPRESSION = "unsupported_compression"
    BIT_DEPTH = "bit_depth"  #: not 8 bits a sample
    FLUORESCENCE = "fluorescence"
    Z_STACK = "z_stack"
    CLAIMS_TOO_MUCH = "claims_too_much"  #: more pixels than the file's bytes can hold
    MPP_CONFLICT = "mpp_conflict"
    OPTICAL_PATHS = "optical_paths"  #: several, and none was chosen
    SEVERAL_PICTURES = "several_pictures"  #: one file holds several scans, and none was chosen
    SEVERAL_SLIDES = "several_slides"  #: the files are those of several slides
    NO_SUCH_CHOICE = "no_such_choice"  #: an optical path, a plane of focus or an image that the slide does not offer
    CAN_NOT_DEIDENTIFY = "can_not_deidentify"  #: it was asked for, and this file cannot be rid of what identifies


class FailReason(StrEnum):
    """The reason why a job failed. Stable: stored in SQL and shown to the user next to a message."""

    SLIDE_REJECTED = "slide_rejected"
    SLIDE_CHANGED = "slide_changed"
    SLIDE_UNREADABLE = "slide_unreadable"
    MODEL_UNAVAILABLE = "model_unavailable"  #: its package is unknown, damaged or refused
    MODEL_FAILED = "model_failed"  #: the network broke off, or gave what is no score
    POISON_SHARD = "poison_shard"
    PLANNING_FAILED = "planning_failed"
    STITCHING_FAILED = "stitching_failed"
    UNDELIVERED = "undelivered"  #: the messages about a part of it died before any worker took it


class TesseraError(Exception):
    """The root of the tree. `sentence` is for people, `code` and `status` are for programs."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class SlideRejected(TesseraError):
    code = "slide_rejected"
    status = 422

    def __init__(self, reason: RejectReason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason

    def __reduce__(self) -> tuple[type[SlideRejected], tuple[RejectReason, str]]:
        return type(self), (self.reason, self.sentence)


class TileUnreadable(TesseraError):
    code = "tile_unreadable"


class SourceError(TesseraError):
    code = "source_error"
    status = 502


class SourceMissing(SourceError):
    code = "source_missing"
    status = 404


class SourceOutside(SourceError):
    code = "source_outside"
    status = 403


class SourceTruncated(SourceError):
    code = "source_truncated"


class SourceChanged(SourceError):
    code = "source_changed"
    status = 409


class LedgerUnavailable(TesseraError):
    code = "ledger_unavailable"
    status = 503
    retryable = True


class SourceUnavailable(SourceError):
    code = "source_unavailable"
    status = 503
    retryable = True


class ModelError(TesseraError):
    code = "model_error"
    status = 422


class ModelFailed(ModelError):
    code = "model_failed"


class UnsuitableDevice(TesseraError):
    code = "unsuitable_gpu"
    status = 503
    retryable = True


class DeviceLost(TesseraError):
    code = "device_lost"
    status = 503
    retryable = True


class Stuck(TesseraError):
    code = "stuck"
    status = 503
    retryable = True


class NewerSchema(TesseraError):
    code = "newer_schema"
    status = 503
    retryable = True


class JobFailed(TesseraError):
    code = "job_failed"

    def __init__(self, reason: FailReason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason

    def __reduce__(self) -> tuple[type[JobFailed], tuple[FailReason, str]]:
        return type(self), (self.reason, self.sentence)


class LeaseLost(TesseraError):
    code = "lease_lost"
    status = 409


class RequestError(TesseraError):
    code = "bad_request"
    status = 400


class Unauthenticated(RequestError):
    code = "unauthenticated"
    status = 401


class Forbidden(RequestError):
    code = "forbidden"
    status = 403


class NotFound(RequestError):
    code = "not_found"
    status = 404


class Conflict(RequestError):
    code = "conflict"
    status = 409


class ObjectLocked(Conflict):
    """A `Conflict` that only time, or whoever locked the object, ends."""


class Invalid(RequestError):
    code = "invalid"
    status = 422


class TooManyRequests(RequestError):
    """`retry_seconds`: when to ask again, if it is known."""

    code = "too_many_requests"
    status = 429
    retryable = True

    def __init__(self, sentence: str, *, retry_seconds: int | None = None) -> None:
        super().__init__(sentence)
        self.retry_seconds = retry_seconds
