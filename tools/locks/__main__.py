"""`make lock` and `make check-lock`.

python -m tools.locks           writes gpu_worker/locks and requirements/locks from the requirements
python -m tools.locks --check   checks that the package index still has what they name
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tools.locks import worker
from tools.locks.entries import NotReached, describe_differences, read_entries
from tools.locks.environments import SETS


@dataclass(frozen=True, kw_only=True, slots=True)
class _Lock:
    name: str
    resolve: Callable[[], str]
    read: Callable[[], str]
    write: Callable[[str], None]


def _list_locks() -> Iterator[_Lock]:
    yield _Lock(name="gpu_worker/locks", resolve=worker.resolve_worker, read=worker.read_lock, write=worker.write_lock)
    for one in SETS:
        yield _Lock(
            name=f"requirements/locks/{one.name}.lock", resolve=one.resolve, read=one.path.read_text, write=one.write
        )


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        sys.stderr.write(__doc__ or "")
        return 2
    found = 0
    for lock in _list_locks():
        try:
            text = lock.resolve()
        except NotReached:
            sys.stderr.write("The package index cannot be reached: no lock was made or checked.\n")
            return 0 if arguments else 1
        if not arguments:
            lock.write(text)
            continue
        for sentence in describe_differences(read_entries(lock.read()), read_entries(text)):
            sys.stderr.write(f"{lock.name}: {sentence} Run `make lock`.\n")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
