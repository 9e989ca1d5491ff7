"""MiniStack (S3, SQS, Cognito) as a child process, from a venv of its own: its pins clash with ours."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Mapping
from pathlib import Path

from local.ports import choose_free_port
from local.processes import children

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv-ministack" / "bin" / "python"
LAUNCHER = ROOT / "local" / "ministack_launcher.py"
START_SECONDS = 30.0
STOP_SECONDS = 10.0


class MiniStack:
    """One server on 127.0.0.1. Objects are files in `folder`; buckets, queues and users survive a clean stop when
    `durable`. With `checks_access`, signatures of roles are verified, and a role may do only what its policies allow.
    With `credentials`, it answers only what they have signed, people who sign in, and pages of `allow_pages`."""

    def __init__(
        self,
        folder: Path,
        *,
        region: str,
        durable: bool,
        checks_access: bool = False,
        credentials: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder.absolute()
        self._region = region
        self._durable = durable
        self._checks_access = checks_access
        self._credentials = credentials
        self._child: subprocess.Popen[bytes] | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    @property
    def is_running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        """Start the server, and return when it answers. Raises RuntimeError with the end of its log when it does
        not."""
        if not PYTHON.exists():
            raise RuntimeError("MiniStack is not installed; run `make setup` or `make demo`.")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o700)  # it keeps slides, passwords and the key that signs tokens, readable by everybody
        for _ in range(5):  # another process may take the port between our look and the server's bind
            self._port = choose_free_port()
            self._child = children.start(
                [str(PYTHON), "-I", str(LAUNCHER)],
                env=self._environ(),
                log=self._folder / "ministack.log",
                cwd=self._folder,
            )
            if self._answers():
                return
            self.stop()
        raise RuntimeError(f"MiniStack did not start; its last words: {self._last_words()}")

    def allow_pages(self, origins: Collection[str]) -> None:
        """Let pages of these origins, and of no others, read answers from now on."""
        staging = self._origins.with_suffix(".partial")
        staging.write_text("\n".join(origins))
        staging.replace(self._origins)

    @property
    def _origins(self) -> Path:
        return self._folder / "origins"

    def stop(self) -> None:
        if self._child:
            children.stop(self._child, seconds=STOP_SECONDS)

    def _environ(self) -> dict[str, str]:
        guarded = {**self._credentials, "TESSERA_ORIGINS": str(self._origins)} if self._credentials else {}
        return {
            **guarded,
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self._folder),
            "TMPDIR": str(self._folder),
            "GATEWAY_PORT": str(self._port),
            "MINISTACK_REGION": self._region,
            "BIND_HOST": "127.0.0.1",
            "IOT_MTLS_ENABLED": "0",  # else it listens on 0.0.0.0:8883 as well
            "S3_PERSIST": "1",
            "S3_DATA_DIR": str(self._folder / "s3"),
            "PERSIST_STATE": "1" if self._durable else "0",
            "STATE_DIR": str(self._folder / "state"),
            "AUTH": "true" if self._checks_access else "false",
            "LOG_LEVEL": "WARNING",
            "POWERTOOLS_LOG_LEVEL": "INFO",  # functions inherit the line above
        }

    def _answers(self) -> bool:
        end = time.monotonic() + START_SECONDS
        while self._child and self._child.poll() is None and time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=2) as answer:  # noqa: S310  # an address of ours
                    json.load(answer)
            except (urllib.error.URLError, ConnectionError, TimeoutError, ValueError):
                time.sleep(0.03)
            else:
                # The reply may be that of another process's server on this port: check that ours listens there.
                return _listens(self._child.pid, self._port)
        return False

    def _last_words(self) -> str:
        lines = (self._folder / "ministack.log").read_text(errors="replace").splitlines()
        return " / ".join(lines[-3:]) or "none"


def _listens(pid: int, port: int) -> bool:
    """Return whether process `pid` holds the listening socket of 127.0.0.1:`port`. Only Linux tells; elsewhere True."""
    if not Path("/proc/net/tcp").exists():
        return True
    wanted = f"0100007F:{port:04X}"
    rows = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    inodes = {f"socket:[{row[9]}]" for row in rows if row[1] == wanted and row[3] == "0A"}
    try:
        return any(_target(link) in inodes for link in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # the process has ended
        return False


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # a file that the process closed since it was listed
        return ""
