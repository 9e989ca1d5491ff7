from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wsi.folder_lock import NAME, lock_folder

HOLD = (
    "import sys; from pathlib import Path; from wsi.folder_lock import lock_folder;"
    "print(lock_folder(Path(sys.argv[1])), flush=True); "
)


def test_a_folder_is_locked_once_and_nothing_stays_behind(tmp_path: Path) -> None:
    lock = lock_folder(tmp_path)
    assert lock is not None
    assert lock_folder(tmp_path) is None
    lock.release()
    assert list(tmp_path.iterdir()) == []
    with lock_folder(tmp_path) or pytest.fail("the folder is free"):
        assert lock_folder(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", HOLD + "import os; os.abort()", str(tmp_path)], check=False)
    assert (tmp_path / NAME).exists()
    lock = lock_folder(tmp_path)
    assert lock is not None
    lock.release()


def test_other_processes_see_it(tmp_path: Path) -> None:
    with lock_folder(tmp_path) or pytest.fail("the folder is free"):
        told = subprocess.run([sys.executable, "-c", HOLD, str(tmp_path)], check=True, capture_output=True, text=True)
    assert told.stdout.strip() == "None"


def test_a_file_that_was_removed_while_it_was_opened_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last holder removes it between the opening and the locking of the next."""
    opened: list[int] = []

    def open_and_lose(path: Path, flags: int, mode: int) -> int:
        opened.append(open_really(path, flags, mode))
        if len(opened) == 1:
            path.unlink()
        return opened[-1]

    open_really = os.open
    monkeypatch.setattr(os, "open", open_and_lose)
    lock = lock_folder(tmp_path)
    assert len(opened) == 2
    assert lock is not None
    assert lock_folder(tmp_path) is None
    lock.release()


def test_a_file_system_without_locks_keeps_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, *, blocking: bool) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("filelock.lock_descriptor", refuse)
    with pytest.raises(OSError, match="No locks"):
        lock_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []
