"""DICOM elements that say nothing, as bytes. Source: PS3.5, sections 6.2 and 7.1."""

from __future__ import annotations

import hashlib
from typing import Final

from pydicom.config import IGNORE
from pydicom.uid import UID

LONG: Final = frozenset({"OB", "OD", "OF", "OL", "OV", "OW", "SQ", "SV", "UC", "UN", "UR", "UT", "UV"})
DUMMY: Final = b"REMOVED"
#: Values of type D by their representation. Day and time stand for any: a slide's acquisition must have one.
_DUMMIES: Final = {
    "AS": b"000Y",
    "DA": b"19000101",
    "TM": b"000000",
    "DT": b"19000101000000",
    "DS": b"0",
    "IS": b"0",
    "UR": b"about:blank",
    "SQ": b"",
    **dict.fromkeys(("AT", "FL", "SL", "UL", "OF", "OL"), bytes(4)),
    **dict.fromkeys(("SS", "US", "OB", "OW", "UN"), bytes(2)),
    **dict.fromkeys(("FD", "SV", "UV", "OD", "OV"), bytes(8)),
}
_SMALLEST: Final = 10**38  #: number of a UUID whose UID has 44 characters
_UUIDS: Final = 2**128


def make_dummy(vr: str) -> bytes:
    """Return a value of the representation that says nothing and is not empty, except of a sequence."""
    return _DUMMIES.get(vr, DUMMY)


def encode_element(tag: int, vr: str, value: bytes, *, implicit: bool) -> bytes:
    """Return an element as bytes, with its value padded to an even length."""
    if len(value) % 2:
        value += b"\0" if vr in ("UI", "OB", "UN") else b" "
    head = (tag >> 16).to_bytes(2, "little") + (tag & 0xFFFF).to_bytes(2, "little")
    if implicit:
        return head + len(value).to_bytes(4, "little") + value
    if vr in LONG:
        return head + vr.encode() + b"\0\0" + len(value).to_bytes(4, "little") + value
    return head + vr.encode() + len(value).to_bytes(2, "little") + value


def encode_sequence(tag: int, items: list[bytes], *, implicit: bool) -> bytes:
    """Return a sequence of items, each given as the bytes of its elements."""
    body = b"".join(b"\xfe\xff\x00\xe0" + len(item).to_bytes(4, "little") + item for item in items)
    return encode_element(tag, "SQ", body, implicit=implicit)


def split_values(value: bytes) -> list[bytes]:
    """Return the values of an element of text, without their padding."""
    return [each.strip(b" \0") for each in value.split(b"\\")]


def replace_uids(value: bytes, salt: bytes) -> bytes:
    """Return other UIDs of 44 characters each; the same UID and salt give the same result. UIDs that the standard
    defines stay, as nobody is named by them."""
    return b"\\".join(_replace_uid(uid, salt) for uid in split_values(value))


def is_standard_uid(uid: bytes) -> bool:
    """Return whether the DICOM standard itself lists the UID. A prefix is not enough: anybody can write one."""
    known = UID(uid.decode("latin-1"), validation_mode=IGNORE)  # which would log a damaged one
    return known.name != known


def _replace_uid(uid: bytes, salt: bytes) -> bytes:
    if not uid or is_standard_uid(uid):
        return uid
    number = int.from_bytes(hashlib.sha256(salt + b"\0" + uid).digest(), "big")
    return f"2.25.{_SMALLEST + number % (_UUIDS - _SMALLEST)}".encode()  # X.667
