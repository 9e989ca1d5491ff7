"""`make check-security`: it compares every lock with the advisories of its index, and looks for secrets.

An index without advisories, as mirrors are, leaves a lock unaudited: the table says so. With AUDIT=required that is a
failure too, as the workflow on GitHub has it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tools.locks import worker
from tools.locks.entries import ROOT
from tools.locks.environments import SETS
from tools.security.advisories import (
    EXCEPTIONS,
    KnownFault,
    NoAdvisories,
    read_exceptions,
    read_npm_report,
    read_pip_report,
    select_open,
)

PIP_AUDIT = ROOT / ".venv-security/bin/pip-audit"
SECRETLINT = (ROOT / ".tools/node_modules/node/bin/node", ROOT / ".tools/node_modules/.bin/secretlint")
SECRET_RULES = Path(__file__).with_name("secretlint.json")
#: Pictures, arrays and archives hold no text.
_NO_TEXT = (".png", ".npy", ".npz", ".gz", ".dcm", ".tif", ".svs", ".onnx", ".safetensors", ".pt", ".ico", ".woff2")
_FILES_A_CALL = 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class LockAudit:
    lock: Path
    list_faults: Callable[[], list[KnownFault]]


def list_audits() -> Iterator[LockAudit]:
    """Yield an audit for each lock of Python's and of npm's packages."""
    for path in (*(worker.LOCKS / f"{part}.lock" for part in worker.PARTS), *(one.path for one in SETS)):
        yield LockAudit(lock=path, list_faults=partial(_ask_pip, path))
    for folder in ("web", "tools"):
        path = ROOT / folder / "package-lock.json"
        yield LockAudit(lock=path, list_faults=partial(_ask_npm, path.parent))


def find_secrets(root: Path, names: list[str]) -> str:
    """Return what secretlint says of the files that hold what looks like a secret; empty if none does. The secrets
    themselves are masked. Raises RuntimeError if it could not look."""
    said: list[str] = []
    for begin in range(0, len(names), _FILES_A_CALL):
        chosen = names[begin : begin + _FILES_A_CALL]
        command = [*SECRETLINT, "--maskSecrets", "--no-glob", "--secretlintrc", SECRET_RULES, *chosen]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"secretlint ended with {done.returncode}: {done.stderr}")
        said.append(done.stdout)
    return "".join(said).strip()


def _list_tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and not name.endswith(_NO_TEXT)]


def _ask_pip(lock: Path) -> list[KnownFault]:
    command = [PIP_AUDIT, "--disable-pip", "--require-hashes", "--progress-spinner", "off", "-f", "json", "-r", lock]
    return read_pip_report(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def _ask_npm(folder: Path) -> list[KnownFault]:
    command = ["npm", "audit", "--json", "--package-lock-only", "--prefix", str(folder)]
    return read_npm_report(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def main() -> int:
    is_required = os.environ.get("AUDIT") == "required"
    exceptions = read_exceptions(EXCEPTIONS.read_text())
    failed = False
    for audit in list_audits():
        name = audit.lock.relative_to(ROOT).as_posix()
        try:
            faults = select_open(audit.list_faults(), exceptions, datetime.now(UTC).date())
        except NoAdvisories as error:
            sys.stdout.write(f"{name:36} not audited: {error}\n")
            failed |= is_required
            continue
        sys.stdout.write(f"{name:36} {len(faults)} known faults\n")
        sys.stdout.writelines(f"    {fault}\n" for fault in faults)
        failed |= bool(faults)
    tracked = _list_tracked()
    secrets = find_secrets(ROOT, tracked)
    sys.stdout.write(f"{f'{len(tracked)} tracked files':36} {secrets or 'no secrets'}\n")
    return 1 if failed or secrets else 0


if __name__ == "__main__":
    sys.exit(main())
