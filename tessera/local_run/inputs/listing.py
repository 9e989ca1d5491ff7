"""Files as a folder or a bucket lists them, before a byte of them is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Protocol

from wsi.slide.ranges import RangeSource

S3 = "s3://"


class Trouble(Enum):
    """The reason why a file cannot be read, as far as its folder shows it."""

    BROKEN_LINK = auto()
    NOT_A_FILE = auto()  #: a pipe, a socket, a device


@dataclass(frozen=True, kw_only=True, slots=True)
class FileEntry:
    location: str  #: a path through the names and links that the user gave, or an s3:// URL
    size: int  #: bytes; 0 where `trouble` is set
    stamp: str  #: changes with the content: the modification time of a file in ns, the ETag of an object
    real: str  #: the path behind all links; of an object its URL
    trouble: Trouble | None = None
    is_linked: bool = False  #: reached through a link

    @property
    def name(self) -> str:
        return self.location.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The folder without a slash at its end; "." for a bare name."""
        folder, slash, _ = self.location.rpartition("/")
        return folder or slash or "."

    @property
    def suffix(self) -> str:
        """The suffix in lower case."""
        return PurePosixPath(self.name).suffix.lower()

    @property
    def is_remote(self) -> bool:
        return self.location.startswith(S3)


def find_common_folder(folders: Sequence[str]) -> str:
    """Return the deepest folder that holds all of them, without a slash at its end."""
    columns = zip(*(folder.split("/") for folder in folders), strict=False)
    return "/".join(column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns))


class Remote(Protocol):
    """S3, as far as a search for slides needs it."""

    def list_entries(self, prefix: str, *, below: bool = True) -> Sequence[FileEntry]:
        """Return the objects whose URL begins with `prefix`, in the order of their URLs; without `below` only those
        without a further slash. 1,000 objects a request. Raises UsageError for a bucket that cannot be listed."""
        ...

    def open_source(self, entry: FileEntry) -> RangeSource:
        """Return the bytes of an object, as it was listed. Sends nothing."""
        ...
