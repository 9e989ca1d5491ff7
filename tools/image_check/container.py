"""One worker of the image as Kubernetes runs it: as user 10001, on a root that is read-only, with /tmp and /scratch to
write to. It shares this machine's network, to reach the embedded stack on the loopback."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.processes import children

USER = 10001
DRAIN_SECONDS = 90.0
_SCRIPT = """
set -e
root=$1 scratch=$2 folder=$3; shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --bind "$scratch" "$root/scratch"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
if touch "$root/written" 2> /dev/null; then echo "The root is not read-only." >&2; exit 1; fi
exec chroot --userspec=10001:10001 "$root" env --chdir="$folder" "$@"
"""


class WorkerContainer:
    def __init__(self, root: Path, scratch: Path, config: Mapping[str, Any], settings: Mapping[str, str]) -> None:
        """Take the image's `config`, whose command runs with `settings` over its environment."""
        scratch.mkdir(parents=True, exist_ok=True)
        shutil.chown(scratch, USER, USER)
        self._command = [
            *("unshare", "--mount", "--propagation", "private", "sh", "-c", _SCRIPT, "sh"),
            *(str(root), str(scratch), config["WorkingDir"], *config["Entrypoint"], *config["Cmd"]),
        ]
        self._environ = {**dict(one.split("=", 1) for one in config["Env"]), **settings}
        self._child: subprocess.Popen[bytes] | None = None

    def start(self, log: Path) -> None:
        # Each command of the chain replaces the one before it, so that a signal to the child reaches tini.
        self._child = children.start(self._command, env=self._environ, log=log, cwd=Path("/"))

    def read_user(self) -> int:
        """Return the user that the worker runs as. Raises FileNotFoundError once it has ended."""
        assert self._child
        status = Path(f"/proc/{self._child.pid}/status").read_text()
        return next(int(line.split()[2]) for line in status.splitlines() if line.startswith("Uid:"))

    def stop(self) -> int:
        """Drain the worker by SIGTERM, as Kubernetes does; return its exit code."""
        assert self._child
        children.stop(self._child, seconds=DRAIN_SECONDS)
        return self._child.returncode
