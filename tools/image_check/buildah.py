"""Debian's buildah, which needs no daemon: images in a folder of ours, commands of a build in a chroot.

The vfs driver copies whole layers. It is slow and takes the most space, and works wherever files can be written.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DRIVER = os.environ.get("STORAGE_DRIVER", "vfs")  #: `overlay`, where the kernel mounts it, takes a third of the space


class BuildahFailed(Exception):
    """A command of buildah or debootstrap failed; its own message was printed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    made_by: str  #: the line of the Dockerfile
    bytes: int


@dataclass(frozen=True, slots=True)
class Buildah:
    folder: Path  #: of images, containers and temporary files

    def has_image(self, name: str) -> bool:
        command = self._command("inspect", "--type", "image", name)
        return subprocess.run(command, env=self._environ(), capture_output=True, check=False).returncode == 0

    def make_base(self, name: str, suite: str) -> None:
        """Make an image of Debian with Python and pip, as the official one has them, and give it that image's name."""
        with tempfile.TemporaryDirectory(dir=self.folder) as made:
            included = "--include=python3,python3-venv,python3-pip,ca-certificates"
            _run(["debootstrap", "--variant=minbase", included, suite, made])
            root = Path(made)
            # pip of Debian cannot be removed by itself; one of its own wheels takes its place.
            next(root.glob("usr/lib/python3.*/EXTERNALLY-MANAGED")).unlink()
            wheels = ("--no-index", "--find-links", "/usr/share/python-wheels", "--ignore-installed")
            _run(["chroot", made, "/usr/bin/pip", "--isolated", "install", "--quiet", *wheels, "pip", "setuptools"])
            _run(["chroot", made, "dpkg", "--purge", "python3-pip", "python3-wheel"])
            _run(["chroot", made, "apt-get", "clean"])
            (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
            # The build trusts whom this machine trusts: its way to the package index may have a proxy.
            trusted = Path("etc/ssl/certs/ca-certificates.crt")
            (root / trusted).write_bytes((Path("/") / trusted).read_bytes())
            (root / "etc/pip.conf").write_text(f"[global]\ncert = /{trusted}\n")
            container = self.run("from", "scratch")
            self.run("copy", "--quiet", container, made, "/")
            path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
            self.run("config", "--env", path, "--cmd", "python3", container)
            self.run("commit", "--quiet", "--rm", "--disable-compression", container, name)

    def build(self, name: str, *, context: Path, dockerfile: Path) -> None:
        """Build an image. Steps that have not changed since the last build come from that one."""
        options = ("--layers", "--isolation", "chroot", "--pull-never", "--ignorefile", str(context / ".dockerignore"))
        _run(self._command("build", *options, "--file", str(dockerfile), "--tag", name, str(context)), self._environ())

    def read_config(self, name: str) -> dict[str, Any]:
        """Return the image's configuration, as OCI describes it."""
        return self._inspect(name)["OCIv1"]["config"]

    def list_layers(self, name: str) -> list[Layer]:
        """Return the layers of an image with their size unpacked, the lowest first."""
        image = self._inspect(name)["OCIv1"]
        makers = [one.get("created_by", "") for one in image["history"] if not one.get("empty_layer")]
        stored: list[dict[str, Any]] = json.loads((self.folder / f"storage/{DRIVER}-layers/layers.json").read_text())
        sizes = {layer["diff-digest"]: layer["diff-size"] for layer in stored if "diff-digest" in layer}
        return [
            Layer(made_by=maker, bytes=sizes[digest])
            for maker, digest in zip(makers, image["rootfs"]["diff_ids"], strict=True)
        ]

    def run(self, *arguments: str) -> str:
        """Run a command of buildah; return what it prints. Raises BuildahFailed."""
        return _run(self._command(*arguments), self._environ(), stdout=subprocess.PIPE)

    def _inspect(self, name: str) -> dict[str, Any]:
        return json.loads(self.run("inspect", "--type", "image", name))

    def _command(self, *arguments: str) -> list[str]:
        places = ("--root", str(self.folder / "storage"), "--runroot", str(self.folder / "run"))
        return ["buildah", *places, "--storage-driver", DRIVER, *arguments]

    def _environ(self) -> dict[str, str]:
        return {**os.environ, "TMPDIR": str(self.folder)}


def _run(command: Sequence[str], environ: dict[str, str] | None = None, *, stdout: int | None = None) -> str:
    done = subprocess.run(command, env=environ, stdout=stdout, text=True, check=False)
    if done.returncode:
        raise BuildahFailed(f"{command[0]} ended with {done.returncode}.")
    return (done.stdout or "").strip()
