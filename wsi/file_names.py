"""Names under which files are written that somebody else has named: a server, an uploader, an archive."""

from __future__ import annotations

import re
from typing import Final

_LONGEST: Final = 255  #: bytes; file systems take no longer names
#: What Windows opens in place of a file, with any extension, also with the digits ¹ ² ³
#: (https://learn.microsoft.com/windows/win32/fileio/naming-a-file).
_DEVICE: Final = re.compile(r"(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(COM|LPT)[0-9\u00b9\u00b2\u00b3])[ .]*(\..*)?", re.I)
_NOT_ON_WINDOWS: Final = re.compile(r'[<>:"|?*\x00-\x1f]')


def is_file_name(name: str, *, on_windows: bool) -> bool:
    """Return whether the name is one file directly in the folder where it is written: neither ".", ".." nor a path, and
    no NUL. With `on_windows`, it must be so on Windows too: no device, no drive, no stream of another file, no name
    that loses its end."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        return False
    if len(name.encode(errors="surrogateescape")) > _LONGEST:
        return False
    if not on_windows:
        return True
    is_cut = name[-1] in " ."
    return not ("\\" in name or is_cut or _NOT_ON_WINDOWS.search(name) or _DEVICE.fullmatch(name))
