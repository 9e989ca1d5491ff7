"""DICOM values that say nothing, each as long as the value that it replaces. Source: PS3.5, section 6.2."""

from __future__ import annotations

import hashlib
from typing import Final

_SPACED: Final = frozenset({"AE", "AS", "CS", "DS", "IS", "LO", "LT", "PN", "SH", "ST", "UC", "UR", "UT"})
#: Day and time that stand for any: a slide's acquisition must have one (PS3.3, C.8.12.4).
_MOMENTS: Final = {"DA": b"19000101", "TM": b"000000", "DT": b"19000101000000"}
_STANDARD: Final = "1.2.840.10008."  #: under it DICOM names classes, transfer syntaxes and code lists
_SHORTEST: Final = 6  #: characters of a UID that another can stand for: "2.25." and a digit
_LONGEST_UUID: Final = 44  #: "2.25." and 39 digits, of which the first may be 1 to 3
_ROOT: Final = "1.2.826.0.1.3680043.8.498."  #: for UIDs that nobody will look up (pydicom's)


def blank(vr: str, length: int) -> bytes | None:
    """Return a value of `length` bytes that says nothing; None stands for zeros."""
    if vr in _SPACED:
        return b" " * length
    moment = _MOMENTS.get(vr)
    if moment is None:
        return None
    whole = length - length % 2
    return moment[:whole].ljust(length) if whole >= 4 else b" " * length


def says_nothing(value: bytes) -> bool:
    return not value.strip(b" \0")


def replace_uids(value: bytes, salt: bytes) -> bytes:
    """Return other UIDs of the same lengths; the same UID and salt give the same result. UIDs of the standard stay. One
    that is too short to be replaced is blanked."""
    uids = value.rstrip(b"\0 ").split(b"\\")
    return b"\\".join(_replace_uid(uid, salt) for uid in uids).ljust(len(value), b"\0")


def _replace_uid(uid: bytes, salt: bytes) -> bytes:
    if uid.startswith(_STANDARD.encode()):
        return uid
    if len(uid) < _SHORTEST:
        return b"\0" * len(uid)
    root = "2.25." if len(uid) <= _LONGEST_UUID else _ROOT
    number = int.from_bytes(hashlib.sha256(salt + b"\0" + uid).digest(), "big")
    # The first digit is no zero, and small enough for a UUID of 39 digits (X.667).
    digits = "1" + str(number).zfill(78)[-(len(uid) - len(root) - 1) :] if len(uid) > len(root) + 1 else "1"
    return f"{root}{digits}"[: len(uid)].encode()
